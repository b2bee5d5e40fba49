import { constants } from 'node:crypto'
import { createServer, type RequestListener, type Server } from 'node:http'
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { Failure, invalidInput } from '@svc/domain/failure'
import { ConfigurationError, type Settings } from '../config/index.ts'
import type { FollowedStores } from '../tls/index.ts'
import {
  clientCertificateRules,
  type OnRefusedHandshake,
  refuseBadClients,
  reportFailedHandshakes,
} from './client-certificates.ts'
import { ConnectionGuard, guardOf } from './connection-guard.ts'
import { ConnectionLimits, type RefusedConnection } from './connection-limits.ts'
import { errorBody } from './error-body.ts'

/** The listening sockets of a server. */
export interface Listeners {
  readonly plaintextPort: number | undefined
  readonly tlsPort: number | undefined
  /** Stops listening, closes idle connections, and waits up to `graceMs` for requests in progress. */
  close(graceMs: number): Promise<void>
}

// How long a client may take for a TLS handshake, and for the headers of its first request or of one that it has begun.
const handshakeTimeoutMs = 5_000
const requestLimits = {
  headersTimeout: 10_000,
  connectionsCheckingInterval: 2_500,
  // The application rejects a missing host with the usual error body.
  requireHostHeader: false,
}

/** Options of `listen`. */
export interface ListenOptions {
  /** Called when a TLS handshake was refused or failed. */
  readonly onRefusedClient?: OnRefusedHandshake
  /** Called when a connection was refused because too many are open. */
  readonly onRefusedConnection?: (refused: RefusedConnection) => void
}

/**
 * Opens the configured ports. Changed stores apply to new connections. Throws a ConfigurationError that names every
 * port that cannot be opened.
 */
export async function listen(
  settings: Settings,
  handler: RequestListener,
  stores: FollowedStores,
  { onRefusedClient = () => undefined, onRefusedConnection = () => undefined }: ListenOptions = {},
): Promise<Listeners> {
  const limits = new ConnectionLimits(settings, onRefusedConnection)
  const servers: Server[] = []
  const problems: string[] = []
  const start = async (server: Server, wanted: WantedPort): Promise<number> => {
    servers.push(server)
    server.on('clientError', answerBrokenRequest)
    guardConnections(server, wanted)
    server.on('connect', ({ socket }) =>
      answerDirectly(socket, '405 Method Not Allowed', noTunnel, ['Allow:']),
    )
    // RFC 9110 10.1.1: a server may ignore an unknown expectation.
    server.on('checkExpectation', (request, response) => server.emit('request', request, response))
    server.keepAliveTimeout = 65_000
    limits.apply(server)
    const problem = await openPort(server, settings, wanted)
    if (problem !== undefined) problems.push(problem)
    return problem === undefined ? (server.address() as AddressInfo).port : wanted.port
  }
  const opened: Record<WantedPort['property'], number | undefined> = {
    'svc.plaintextPort': undefined,
    'svc.tlsPort': undefined,
  }
  for (const wanted of wantedPorts(settings)) {
    const server =
      wanted.property === 'svc.tlsPort'
        ? tlsServer(settings, handler, stores, onRefusedClient)
        : createServer(requestLimits, handler)
    opened[wanted.property] = await start(server, wanted)
  }
  if (problems.length > 0) {
    for (const server of servers) server.close()
    throw new ConfigurationError(problems)
  }
  return {
    plaintextPort: opened['svc.plaintextPort'],
    tlsPort: opened['svc.tlsPort'],
    close: async (graceMs) => {
      await Promise.all(servers.map((server) => closeServer(server, graceMs)))
    },
  }
}

function guardConnections(server: Server, { property }: WantedPort): void {
  server.on(property === 'svc.tlsPort' ? 'secureConnection' : 'connection', (socket: Socket) => {
    new ConnectionGuard(socket, (failure) => answerDirectly(socket, '400 Bad Request', failure))
  })
  server.prependListener('request', (request, response) => guardOf(request.socket)?.begin(request, response))
}

interface WantedPort {
  readonly property: 'svc.plaintextPort' | 'svc.tlsPort'
  readonly port: number
}

function wantedPorts(settings: Settings): WantedPort[] {
  const wanted = (property: WantedPort['property']) => ({ property, port: settings.get(property) })
  return [
    ...(settings.get('svc.enableTlsPort') ? [wanted('svc.tlsPort')] : []),
    ...(settings.get('svc.enablePlaintextPort') ? [wanted('svc.plaintextPort')] : []),
  ]
}

/**
 * Returns the problems that would keep the ports from being opened. Used for an invalid configuration, to report all
 * problems at once. Properties in `faulty` have no valid value to check.
 */
export async function findPortProblems(settings: Settings, faulty: ReadonlySet<string>): Promise<string[]> {
  const problems: string[] = []
  for (const wanted of wantedPorts(settings)) {
    if (faulty.has(wanted.property) || faulty.has('svc.host')) continue
    const server = createServer()
    const problem = await openPort(server, settings, wanted)
    if (problem === undefined) await new Promise((resolve) => server.close(resolve))
    else problems.push(problem)
  }
  return problems
}

async function openPort(
  server: Server,
  settings: Settings,
  { port, property }: WantedPort,
): Promise<string | undefined> {
  const host = settings.get('svc.bindOnHost') ? settings.get('svc.host') : undefined
  return await new Promise((resolve) => {
    const refused = (error: NodeJS.ErrnoException) =>
      resolve(`Cannot open port [${port}], set by [${property}], on [${host ?? '*'}] (${error.code})`)
    server.once('error', refused)
    server.listen({ port, host }, () => {
      server.off('error', refused)
      resolve(undefined)
    })
  })
}

function tlsServer(
  settings: Settings,
  handler: RequestListener,
  stores: FollowedStores,
  onRefusedClient: OnRefusedHandshake,
): Server {
  const rules = clientCertificateRules(settings)
  const { server: tls } = stores.current()
  const server = createTlsServer(
    {
      ...requestLimits,
      handshakeTimeout: handshakeTimeoutMs,
      ...tls?.context,
      // A client that renegotiates in a loop would keep a CPU busy.
      secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
      requestCert: rules.requested,
      // Invalid certificates are rejected below, with a reason for the log.
      rejectUnauthorized: false,
    },
    handler,
  )
  stores.onChange(() => {
    const { server: changed } = stores.current()
    if (changed)
      server.setSecureContext({ ...changed.context, secureOptions: constants.SSL_OP_NO_RENEGOTIATION })
  })
  reportFailedHandshakes(server, onRefusedClient)
  if (rules.requested) {
    refuseBadClients(server, rules, onRefusedClient)
    endWithOldStores(server, stores)
  }
  return server as unknown as Server
}

/** Makes clients that connected before the stores changed reconnect after their next response. */
function endWithOldStores(server: TlsServer, stores: FollowedStores): void {
  const connected = new Set<Duplex>()
  const outdated = new WeakSet<Duplex>()
  server.on('secureConnection', (socket) => {
    connected.add(socket)
    socket.once('close', () => connected.delete(socket))
  })
  stores.onChange(() => {
    for (const socket of connected) outdated.add(socket)
  })
  server.prependListener('request', ({ socket }, response) => {
    if (outdated.has(socket)) response.shouldKeepAlive = false
  })
}

const brokenRequests: Readonly<Record<string, { readonly status: string; readonly failure: Failure }>> = {
  HPE_HEADER_OVERFLOW: {
    // RFC 6585 5: the status for header fields that are too large.
    status: '431 Request Header Fields Too Large',
    failure: new Failure('tooLarge', 'The request headers are too large'),
  },
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: '408 Request Timeout',
    failure: invalidInput('Timed out before the request was complete'),
  },
}

/** Answers an unreadable HTTP request with the usual error body. */
function answerBrokenRequest(error: NodeJS.ErrnoException, socket: Duplex): void {
  // Without a handshake, a response would never be sent.
  if (!socket.writable || error.code === 'ECONNRESET' || error.code === 'ERR_TLS_HANDSHAKE_TIMEOUT') {
    socket.destroy()
    return
  }
  const { status, failure } = brokenRequests[error.code ?? ''] ?? {
    status: '400 Bad Request',
    failure: invalidInput('The request is not valid HTTP'),
  }
  answerDirectly(socket, status, failure)
}

const noTunnel = new Failure(
  'methodNotAllowed',
  'Unsupported method [CONNECT]: this server does not tunnel connections',
)

/** Answers a request that never reaches the application, and closes its connection. */
function answerDirectly(
  socket: Duplex,
  status: string,
  failure: Failure,
  headers: readonly string[] = [],
): void {
  const body = JSON.stringify(errorBody(failure))
  const response = [
    `HTTP/1.1 ${status}`,
    ...headers,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
    '',
    body,
  ].join('\r\n')
  const guard = guardOf(socket)
  if (guard) guard.close(response)
  else socket.end(response)
}

// A connection whose request completes during shutdown would otherwise stay open for the next one.
const closeIdlePeriodMs = 25

function closeServer(server: Server, graceMs: number): Promise<void> {
  return new Promise((resolve) => {
    const sweep = setInterval(() => server.closeIdleConnections(), closeIdlePeriodMs)
    const timer = setTimeout(() => server.closeAllConnections(), graceMs)
    server.close(() => {
      clearInterval(sweep)
      clearTimeout(timer)
      resolve()
    })
    server.closeIdleConnections()
  })
}
