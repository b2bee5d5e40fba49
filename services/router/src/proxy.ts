import type { IncomingMessage, ServerResponse } from 'node:http'
import { describeError, Failure, notFound, unavailable } from '@svc/domain/failure'
import { drain, jsonAnswer, type Route, route, state } from '@svc/shared/http'
import type { Caller } from '@svc/shared/security'
import type { ServiceContext } from '@svc/shared/service'
import { errors } from 'undici'
import { z } from 'zod'
import { type Agents, createAgents } from './agents.ts'
import { type BrokerAnswer, cancelEverywhere } from './cancel-query.ts'
import { createBodyIntake, type ForwardedBody } from './forwarded-body.ts'
import { keptHeaders } from './headers.ts'
import { type Relayed, relay } from './relay.ts'
import { type BuildRequest, type Exchange, requestBuilder } from './sent-request.ts'
import { targetOf } from './target.ts'
import { createTargetAddresses, type TargetAddresses } from './target-addresses.ts'

/** A request with the path that the caller sent, before any rewriting. */
type ReceivedRequest = IncomingMessage & { readonly originalUrl: string }

/** The part of the router that forwards requests. */
export interface Proxy {
  readonly routes: readonly Route[]
  /** Forwards a request to the server that its path names, with the caller's own credentials. */
  forward(request: ReceivedRequest, response: ServerResponse, caller: Caller): Promise<void>
  start(): Promise<void>
  stop(): Promise<void>
}

// A broker that hangs must not delay the answer of the others. Callers repeat cancel requests anyway.
const cancelTimeoutMs = 10_000

/** What sending a request needs. */
interface Sending {
  readonly agents: Agents
  readonly addresses: TargetAddresses
  readonly build: BuildRequest
  readonly logger: ServiceContext['logger']
}

/** Creates the proxy of a router. */
export function createProxy(context: ServiceContext): Proxy {
  const { discovery, logger, stores } = context
  const agents = createAgents(stores)
  const addresses = createTargetAddresses(discovery)
  const sending: Sending = { agents, addresses, build: requestBuilder(context), logger }
  const aliases = context.settings.get('svc.api.aliases')
  const takeIn = createBodyIntake()

  async function forward(
    request: ReceivedRequest,
    response: ServerResponse,
    { authenticator, identity }: Caller,
  ): Promise<void> {
    const requestTarget = request.originalUrl
    const target = targetOf(requestTarget, aliases)
    if (!target) throw notFound(`Path [${requestTarget.split('?', 1)[0]}] does not exist`)
    const exchange: Exchange = { target, request, response }
    if (target.role === 'broker' && request.method === 'DELETE') {
      await cancelQuery(sending, exchange)
      return
    }
    const body = await takeIn(request, `${authenticator} ${identity}`)
    try {
      await sendToLeader(sending, exchange, body)
    } finally {
      body.release()
    }
    // A target may respond before it reads the entire body. Drain it, so that the caller's connection can be reused.
    drain(request)
  }

  return { forward, routes: [brokersRoute(discovery)], start: async () => undefined, stop: agents.close }
}

const brokersRoute = (discovery: ServiceContext['discovery']): Route =>
  route({
    method: 'GET',
    path: '/svc/router/v1/brokers',
    access: state('READ'),
    summary: 'List the brokers that queries are forwarded to',
    answers: [jsonAnswer(z.object({ brokers: z.array(z.string()) }))],
    handle: async () => {
      await discovery.refresh()
      return { brokers: discovery.nodes('broker').map(({ name }) => name) }
    },
  })

/** Sends a cancel request to all brokers, and answers with the most informative answer. */
async function cancelQuery({ agents, addresses, build }: Sending, exchange: Exchange): Promise<void> {
  await addresses.refresh()
  const answer = await cancelEverywhere(addresses.brokers(), async (origin): Promise<BrokerAnswer> => {
    const sent = build(origin, exchange, null)
    const { statusCode, headers, body } = await agents
      .current()
      .request({ ...sent, headersTimeout: cancelTimeoutMs })
    return { statusCode, headers, body: Buffer.from(await body.arrayBuffer()) }
  })
  exchange.response.writeHead(answer.statusCode, keptHeaders(answer.headers)).end(answer.body)
  exchange.request.resume()
}

/**
 * Sends the request to a leader or a broker. If that server has lost leadership and redirects the request, follows the
 * new leader here, so that the caller need not.
 */
async function sendToLeader(sending: Sending, exchange: Exchange, body: ForwardedBody): Promise<void> {
  if ((await reach(sending, exchange, body)) === 'answered') return
  await sending.addresses.refresh()
  if (body.isRepeatable && (await reach(sending, exchange, body)) === 'answered') return
  throw unavailable(`The ${exchange.target.role} leader has just changed; send the request again`)
}

/** Sends the request. If the connection fails, sends it once more to the current leader. */
async function reach(sending: Sending, exchange: Exchange, body: ForwardedBody): Promise<Relayed> {
  const { addresses } = sending
  const { role } = exchange.target
  const first = await addresses.find(role)
  try {
    return await send(sending, first, exchange, body)
  } catch (error) {
    if (exchange.response.destroyed) throw unavailable('The caller disconnected')
    if (error instanceof Failure) throw error
    // Without a connection, the server has received nothing, so any request can be sent again.
    if (neverConnected(error)) {
      const second = await addresses.findAgain(role)
      if (second !== first) return await send(sending, second, exchange, body)
    }
    throw unavailable(`The ${role} at [${first}] cannot be reached: ${describeError(error)}`, {
      server: first,
    })
  }
}

async function send(
  { agents, addresses, build, logger }: Sending,
  origin: string,
  exchange: Exchange,
  body: ForwardedBody,
): Promise<Relayed> {
  const sent = build(origin, exchange, body.content())
  return await relay(agents.current(), sent, exchange.response, keptHeaders, {
    isLost: exchange.target.role === 'broker' ? addresses.watchBroker(origin) : undefined,
    onAborted: (error) => logger.debug('A response was cut off', { error: describeError(error) }),
  })
}

/** Whether a request failed before it was connected: refused, no route to the host, or an unknown host name. */
function neverConnected(error: unknown): boolean {
  if (error instanceof errors.ConnectTimeoutError) return true
  // If a host name has several addresses, the error contains the errors of all of them.
  const { syscall } = (error instanceof AggregateError ? error.errors[0] : error) as NodeJS.ErrnoException
  return syscall === 'connect' || syscall === 'getaddrinfo'
}
