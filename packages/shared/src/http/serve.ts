import { constants } from 'node:crypto'
import { createServer, type RequestListener, type Server } from 'node:http'
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { Failure, invalidInput } from '@svc/domain/failure'
import { ConfigurationError, type Settings } from '../config/index.ts'
import type { FollowedStores } from '../tls/index.ts'
import { clientCertificateRules, refuseBadClients } from './client-certificates.ts'
import { errorBody } from './error-body.ts'

/** The listening sockets of a server. */
export interface Listeners {
  readonly plaintextPort: number | undefined
  readonly tlsPort: number | undefined
  /** Ends the listening; requests under way are finished, at most `graceMs` long, idle connections closed. */
  close(graceMs: number): Promise<void>
}

/** What `listen` tells of. */
export interface ListenOptions {
  /** A client was refused for its certificate. */
  readonly onRefusedClient?: (address: string, reason: string) => void
}

/**
 * Opens the ports that the configuration asks for; changed stores count from the next connection on. Throws one
 * ConfigurationError that names every port that cannot be opened.
 */
export async function listen(
  settings: Settings,
  handler: RequestListener,
  stores: FollowedStores,
  { onRefusedClient = () => undefined }: ListenOptions = {},
): Promise<Listeners> {
  const servers: Server[] = []
  const problems: string[] = []
  const start = async (server: Server, wanted: WantedPort): Promise<number> => {
    servers.push(server)
    server.on('clientError', answerBrokenRequest)
    server.on('connect', (_request, socket) =>
      answerPlainly(socket, '405 Method Not Allowed', noTunnel, ['Allow:']),
    )
    // RFC 9110 10.1.1: an expectation that is not known may be passed over.
    server.on('checkExpectation', handler)
    server.keepAliveTimeout = 65_000
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
        : createServer(handler)
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
 * What would keep the ports from being opened, one sentence each: for a configuration that is refused anyway, so that
 * all is told at once. Properties in `faulty` have no value to try.
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
      resolve(`[${property}] is [${port}], which cannot be opened on [${host ?? '*'}] (${error.code})`)
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
  onRefusedClient: (address: string, reason: string) => void,
): Server {
  const rules = clientCertificateRules(settings)
  const { server: tls } = stores.current()
  const server = createTlsServer(
    {
      ...tls?.context,
      // A client that asks for it again and again would keep a processor busy.
      secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
      requestCert: rules.requested,
      // Refused with a reason for the log, below.
      rejectUnauthorized: false,
    },
    handler,
  )
  stores.onChange(() => {
    const { server: changed } = stores.current()
    if (changed)
      server.setSecureContext({ ...changed.context, secureOptions: constants.SSL_OP_NO_RENEGOTIATION })
  })
  if (rules.requested) {
    refuseBadClients(server, rules, onRefusedClient)
    endWithOldStores(server, stores)
  }
  return server as unknown as Server
}

/** Clients that were let in under stores of before are let in anew, once their request has been answered. */
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
    failure: new Failure('tooLarge', 'The header fields of the request are too large'),
  },
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: '408 Request Timeout',
    failure: invalidInput('The request did not arrive whole in time'),
  },
}

/** What is no HTTP request that can be read gets the same shape of error as everything else. */
function answerBrokenRequest(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy()
    return
  }
  const { status, failure } = brokenRequests[error.code ?? ''] ?? {
    status: '400 Bad Request',
    failure: invalidInput('The request is not well-formed HTTP'),
  }
  answerPlainly(socket, status, failure)
}

const noTunnel = new Failure('methodNotAllowed', 'Method [CONNECT] is not allowed: nothing is tunnelled here')

/** Answers a request that never becomes one of the application, and ends its connection. */
function answerPlainly(
  socket: Duplex,
  status: string,
  failure: Failure,
  headers: readonly string[] = [],
): void {
  const body = JSON.stringify(errorBody(failure))
  socket.end(
    [
      `HTTP/1.1 ${status}`,
      ...headers,
      'Content-Type: application/json; charset=utf-8',
      `Content-Length: ${Buffer.byteLength(body)}`,
      'Connection: close',
      '',
      body,
    ].join('\r\n'),
  )
}

// A connection whose request ends while the server closes would stay open for the next one.
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
