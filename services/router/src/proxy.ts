import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import { describeError, Failure, notFound, unavailable } from '@svc/domain/failure'
import { drain, jsonAnswer, type Route, route, state } from '@svc/shared/http'
import { systemClock } from '@svc/shared/runtime'
import { type Caller, callerAddressHeader, createAddressSigner } from '@svc/shared/security'
import type { ServiceContext } from '@svc/shared/service'
import { Agent, type Dispatcher, errors } from 'undici'
import { z } from 'zod'
import { createBodyIntake, type ForwardedBody } from './forwarded-body.ts'
import { type Relayed, relay } from './relay.ts'
import { type Target, targetOf } from './target.ts'

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

// Headers about a single connection are not forwarded (RFC 9110 7.6.1). Host is set for the target.
const connectionHeaders = new Set([
  'connection',
  'host',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'expect',
])

// Headers that only servers of the cluster may set, and the request id, which this server has checked and sets itself.
const replacedHeaders = new Set(['x-svc-from', 'x-request-id', callerAddressHeader])

const headersTimeoutMs = 60_000

// A broker that hangs must not delay the answer of the others. Callers repeat cancel requests anyway.
const cancelTimeoutMs = 10_000

// A query may take long, but requests to a broker that crashed or hangs must fail. A stopping broker leaves discovery
// a few seconds before it stops, and uses this time to finish its queries.
const silenceMs = 10_000

export function createProxy(context: ServiceContext): Proxy {
  const { discovery, logger, stores } = context
  const signAddress = createAddressSigner(context.escalator, systemClock.now)
  const createAgent = () =>
    new Agent({
      connections: 128,
      headersTimeout: headersTimeoutMs,
      bodyTimeout: 0,
      connect: { ...stores.current().client, timeout: 5000 },
    })
  let agent = createAgent()
  stores.onChange(() => {
    // The old agent finishes its requests.
    agent.close().catch(() => undefined)
    agent = createAgent()
  })
  const aliases = context.settings.get('svc.api.aliases')
  const queryTimeoutMs = context.settings.get('svc.query.maxTimeout') + headersTimeoutMs
  const takeIn = createBodyIntake()
  let nextBroker = 0

  function addressOf({ role }: Target): string {
    if (role !== 'broker') return discovery.leader(role).baseUrl
    const brokers = discovery.nodes('broker')
    const broker = brokers[nextBroker++ % Math.max(brokers.length, 1)]
    if (!broker) throw unavailable('No broker is running')
    return broker.baseUrl
  }

  async function forward(
    request: ReceivedRequest,
    response: ServerResponse,
    { authenticator, identity }: Caller,
  ): Promise<void> {
    const requestTarget = request.originalUrl
    const target = targetOf(requestTarget, aliases)
    if (!target) throw notFound(`Path [${requestTarget.split('?', 1)[0]}] does not exist`)
    if (target.role === 'broker' && request.method === 'DELETE') {
      await cancelEverywhere(target, request, response)
      return
    }
    const body = await takeIn(request, `${authenticator} ${identity}`)
    try {
      if ((await reach(target, request, response, body)) === 'moved') {
        // The server lost leadership and redirected the request. Follow the new leader here, so that the caller need not.
        await discovery.refresh().catch(() => undefined)
        if (!body.isRepeatable || (await reach(target, request, response, body)) === 'moved') {
          throw unavailable(`The ${target.role} leader has just changed; send the request again`)
        }
      }
    } finally {
      body.release()
    }
    // A target may respond before it reads the entire body. Drain it, so that the caller's connection can be reused.
    drain(request)
  }

  /**
   * Cancels a query on whichever broker runs it: sends the request to all brokers and returns the most informative
   * answer. If no broker knows the query but one is unreachable, the query may still exist, so throws unavailable.
   */
  async function cancelEverywhere(target: Target, request: IncomingMessage, response: ServerResponse) {
    await discovery.refresh().catch(() => undefined)
    const origins = discovery.nodes('broker').map(({ baseUrl }) => baseUrl)
    if (origins.length === 0) throw unavailable('No broker is running')
    const requests = origins.map(async (origin) => {
      assertNotCut(target)
      const sent = sentTo(origin, target, request, response, null)
      const { statusCode, headers, body } = await agent.request({ ...sent, headersTimeout: cancelTimeoutMs })
      return { statusCode, headers, body: Buffer.from(await body.arrayBuffer()) }
    })
    const cancelled = requests.map(async (one) => {
      const answer = await one
      if (answer.statusCode !== 202) throw new Error('The query does not run on this broker')
      return answer
    })
    const answer = await Promise.any(cancelled).catch(async () => {
      const all = await Promise.allSettled(requests)
      const answers = all.flatMap((one) => (one.status === 'fulfilled' ? one.value : []))
      const failed = all.findIndex(({ status }) => status === 'rejected')
      const max = answers.find(({ statusCode }) => statusCode !== 404)
      if (max || failed < 0) return max ?? (answers[0] as (typeof answers)[number])
      const { reason } = all[failed] as PromiseRejectedResult
      throw unavailable(`The broker at [${origins[failed]}] cannot be reached: ${describeError(reason)}`, {
        server: origins[failed] as string,
      })
    })
    response.writeHead(answer.statusCode, keptHeaders(answer.headers)).end(answer.body)
    request.resume()
  }

  /** Sends the request. If the connection fails, sends it once more to the current leader. */
  async function reach(
    target: Target,
    request: IncomingMessage,
    response: ServerResponse,
    body: ForwardedBody,
  ) {
    const first = isKnown(target) ? addressOf(target) : await discoverAddress(target)
    try {
      return await send(first, target, request, response, body)
    } catch (error) {
      if (response.destroyed) throw unavailable('The caller disconnected')
      if (error instanceof Failure) throw error
      // Without a connection, the server has received nothing, so any request can be sent again.
      if (neverConnected(error)) {
        await discovery.refresh().catch(() => undefined)
        const second = await discoverAddress(target)
        if (second !== first) return await send(second, target, request, response, body)
      }
      throw unavailable(`The ${target.role} at [${first}] cannot be reached: ${describeError(error)}`, {
        server: first,
      })
    }
  }

  const isKnown = ({ role }: Target): boolean =>
    role === 'broker' ? discovery.nodes(role).length > 0 : discovery.hasLeader(role)

  async function discoverAddress(target: Target): Promise<string> {
    if (!isKnown(target)) await discovery.refresh().catch(() => undefined)
    return addressOf(target)
  }

  async function send(
    origin: string,
    target: Target,
    request: IncomingMessage,
    response: ServerResponse,
    body: ForwardedBody,
  ): Promise<Relayed> {
    assertNotCut(target)
    const sent = sentTo(origin, target, request, response, body.content())
    return await relay(agent, sent, response, keptHeaders, {
      isLost: target.role === 'broker' ? silenceOf(origin) : undefined,
      onAborted: (error) => logger.debug('A response was cut off', { error: describeError(error) }),
    })
  }

  /** Returns a function that checks whether a broker has been missing from discovery for too long. Call it periodically. */
  function silenceOf(origin: string): () => boolean {
    let seenAtMs = performance.now()
    return () => {
      if (discovery.nodes('broker').some(({ baseUrl }) => baseUrl === origin)) seenAtMs = performance.now()
      return performance.now() - seenAtMs > silenceMs
    }
  }

  function assertNotCut({ path }: Target): void {
    if (context.faults.cutsCall(path.split('?', 1)[0] as string))
      throw new Error('an injected fault cut off this server')
  }

  function sentTo(
    origin: string,
    { role, path }: Target,
    request: IncomingMessage,
    response: ServerResponse,
    body: Buffer | Readable | null,
  ) {
    const method = request.method as Dispatcher.HttpMethod
    const { authorization } = request.headers
    const address = signAddress(origin, { method, path, authorization }, addressOfCaller(request))
    return {
      origin,
      path,
      method,
      headers: [
        ...sentHeaders(request),
        'X-Request-Id',
        String(response.getHeader('x-request-id')),
        ...(address === undefined ? [] : [callerAddressHeader, address]),
      ],
      body,
      // The response to a query starts with its first row. A broker that is alive enforces the query timeout itself.
      ...(role === 'broker' && request.method === 'POST' ? { headersTimeout: queryTimeoutMs } : {}),
    }
  }

  return {
    forward,
    routes: [
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
      }),
    ],
    start: async () => undefined,
    stop: () => agent.close(),
  }
}

/** Whether a request failed before it was connected: refused, no route to the host, or an unknown host name. */
function neverConnected(error: unknown): boolean {
  if (error instanceof errors.ConnectTimeoutError) return true
  // If a host name has several addresses, the error contains the errors of all of them.
  const { syscall } = (error instanceof AggregateError ? error.errors[0] : error) as NodeJS.ErrnoException
  return syscall === 'connect' || syscall === 'getaddrinfo'
}

/** Returns the headers to send to the target. Forwarding headers from the caller are not trusted, so they are removed. */
function sentHeaders(request: IncomingMessage): string[] {
  const headers: string[] = []
  const named = namedByConnection(request.headers.connection)
  for (let index = 0; index < request.rawHeaders.length; index += 2) {
    const name = request.rawHeaders[index] as string
    const lower = name.toLowerCase()
    if (connectionHeaders.has(lower) || replacedHeaders.has(lower) || named.has(lower)) continue
    if (lower === 'forwarded' || lower.startsWith('x-forwarded-')) continue
    headers.push(name, request.rawHeaders[index + 1] as string)
  }
  headers.push('X-Forwarded-For', addressOfCaller(request))
  return headers
}

const addressOfCaller = (request: IncomingMessage): string =>
  (request.socket.remoteAddress ?? '').replace(/^::ffff:/, '')

// The usual Connection headers, which name no other header.
const namesNothing: ReadonlySet<string> = new Set(['keep-alive', 'close'])

function namedByConnection(header: string | undefined): ReadonlySet<string> {
  if (header === undefined || header === '' || header === 'keep-alive') return namesNothing
  return new Set(
    (header ?? '')
      .toLowerCase()
      .split(',')
      .map((name) => name.trim()),
  )
}

function keptHeaders(
  headers: Record<string, string | string[] | undefined>,
): Record<string, string | string[]> {
  const kept: Record<string, string | string[]> = {}
  const named = namedByConnection(headers.connection?.toString())
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && !connectionHeaders.has(name) && !named.has(name)) kept[name] = value
  }
  return kept
}
