import type { IncomingMessage, ServerResponse } from 'node:http'
import { notFound } from '@svc/domain/failure'
import { jsonAnswer, type Route, route, state } from '@svc/shared/http'
import type { Caller } from '@svc/shared/security'
import type { ServiceContext } from '@svc/shared/service'
import * as z from 'zod'
import { createAgents } from './agents.ts'
import { type BrokerAnswer, cancelEverywhere } from './cancel-query.ts'
import { createTakeConnection } from './connection-shares.ts'
import { forwardToLeaderOrBroker, type Sending } from './forward-to-leader-or-broker.ts'
import { createBodyIntake } from './forwarded-body.ts'
import { keptHeaders } from './headers.ts'
import { targetOf } from './role-of-path.ts'
import { type Exchange, requestBuilder } from './sent-request.ts'
import { createTargetAddresses } from './target-addresses.ts'

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

/** Creates the proxy of a router. */
export function createProxy(
  context: Pick<ServiceContext, 'settings' | 'discovery' | 'logger' | 'stores' | 'escalator' | 'faults'>,
): Proxy {
  const { discovery, logger, stores } = context
  const agents = createAgents(stores)
  const addresses = createTargetAddresses(discovery)
  const sending: Sending = {
    agents,
    addresses,
    takeConnection: createTakeConnection(),
    build: requestBuilder(context),
    logger,
  }
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
    const caller = `${authenticator} ${identity}`
    const exchange: Exchange = { caller, target, request, response }
    if (target.role === 'broker' && request.method === 'DELETE') {
      await cancelQuery(sending, exchange)
      return
    }
    const body = await takeIn(request, caller)
    try {
      await forwardToLeaderOrBroker(sending, exchange, body)
    } finally {
      body.release()
    }
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
    const sent = await build(origin, exchange, null)
    const { statusCode, headers, body } = await agents
      .current()
      .request({ ...sent, headersTimeout: cancelTimeoutMs })
    return { statusCode, headers, body: Buffer.from(await body.arrayBuffer()) }
  })
  exchange.response.writeHead(answer.statusCode, keptHeaders(answer.headers)).end(answer.body)
  exchange.request.resume()
}
