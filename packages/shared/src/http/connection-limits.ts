import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { isIPv6, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Settings } from '../config/index.ts'
import { peerAddress } from './client-certificates.ts'

/** A connection that was closed because too many are open. */
export interface RefusedConnection {
  readonly address: string
  /** The limit that was reached: of one address, or of all. */
  readonly limit: 'address' | 'total'
}

interface Connection {
  readonly socket: Socket
  readonly address: string
  /** The part of the address that identifies a client. */
  readonly client: string
  readonly endpoints: string
  /** Whether a request with an accepted login has arrived on it. */
  isLoggedIn: boolean
  requestsInProgress: number
}

// By the socket of their requests.
const connectionOf = new WeakMap<Duplex, { readonly limits: ConnectionLimits; readonly one: Connection }>()

/** Records that a request with an accepted login has arrived on a connection. */
export function noteLogin(socket: Duplex): void {
  const known = connectionOf.get(socket)
  if (known) known.limits.noteLogin(known.one)
}

/**
 * Limits the open connections of a server, on all its ports together. Idle connections cost memory, too. At a limit, a new
 * connection replaces the one that has been idle the longest, so that idle connections keep no client out.
 */
export class ConnectionLimits {
  private readonly max: number
  private readonly maxPerAddress: number
  private readonly onRefused: (refused: RefusedConnection) => void
  private readonly openFrom = new Map<string, number>()
  private readonly connections = new Map<string, Connection>()
  // Connections without a request in progress, the one that has been idle the longest first.
  private readonly idle = { anonymous: new Set<Connection>(), loggedIn: new Set<Connection>() }
  private open = 0

  constructor(settings: Settings, onRefused: (refused: RefusedConnection) => void) {
    this.max = settings.get('svc.server.http.maxConnections')
    this.maxPerAddress = settings.get('svc.server.http.maxConnectionsPerAddress')
    this.onRefused = onRefused
  }

  /** Makes a server close connections above the limits, before a TLS handshake. Call it after all listeners were added. */
  apply(server: Server): void {
    const listeners = server.listeners('connection')
    server.removeAllListeners('connection').on('connection', (socket: Socket) => {
      if (!this.admit(socket)) socket.destroy()
      else for (const listener of listeners) listener.call(server, socket)
    })
    server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
      const one = this.connections.get(endpointsOf(request.socket))
      if (one) this.begin(one, request.socket, response)
    })
  }

  /** Makes a connection one of those that are closed last. */
  noteLogin(one: Connection): void {
    const isIdle = this.idleLike(one).delete(one)
    one.isLoggedIn = true
    if (isIdle) this.idle.loggedIn.add(one)
  }

  private begin(one: Connection, socket: Duplex, response: ServerResponse): void {
    connectionOf.set(socket, { limits: this, one })
    one.requestsInProgress += 1
    this.idleLike(one).delete(one)
    response.once('close', () => {
      one.requestsInProgress -= 1
      const isOpen = this.connections.get(one.endpoints) === one
      if (isOpen && one.requestsInProgress === 0) this.idleLike(one).add(one)
    })
  }

  private idleLike({ isLoggedIn }: Connection): Set<Connection> {
    return isLoggedIn ? this.idle.loggedIn : this.idle.anonymous
  }

  private admit(socket: Socket): boolean {
    const address = peerAddress(socket)
    const client = clientOf(address)
    const isOwnLimit = (this.openFrom.get(client) ?? 0) >= this.maxPerAddress
    const limit = isOwnLimit ? 'address' : this.open >= this.max ? 'total' : undefined
    if (limit !== undefined) {
      const replaced = this.oldestIdle(isOwnLimit ? client : undefined)
      this.onRefused({ address: replaced?.address ?? address, limit })
      if (!replaced) return false
      this.remove(replaced)
      replaced.socket.destroy()
    }
    const endpoints = endpointsOf(socket)
    this.add({ socket, address, client, endpoints, isLoggedIn: false, requestsInProgress: 0 })
    return true
  }

  /** Returns the connection that has been idle the longest, of one client or of all; one without a login if there is any. */
  private oldestIdle(client: string | undefined): Connection | undefined {
    for (const idle of [this.idle.anonymous, this.idle.loggedIn])
      for (const one of idle) if (client === undefined || one.client === client) return one
    return undefined
  }

  private add(one: Connection): void {
    this.connections.set(one.endpoints, one)
    this.idle.anonymous.add(one)
    this.count(one.client, 1)
    one.socket.once('close', () => this.remove(one))
  }

  private remove(one: Connection): void {
    if (this.connections.get(one.endpoints) !== one) return
    this.connections.delete(one.endpoints)
    this.idleLike(one).delete(one)
    this.count(one.client, -1)
  }

  private count(client: string, by: number): void {
    this.open += by
    const own = (this.openFrom.get(client) ?? 0) + by
    if (own === 0) this.openFrom.delete(client)
    else this.openFrom.set(client, own)
  }
}

/** Identifies an open connection. A TLS socket has the same endpoints as the socket that it wraps. */
const endpointsOf = ({ localAddress, localPort, remoteAddress, remotePort }: Socket): string =>
  `${localAddress} ${localPort} ${remoteAddress} ${remotePort}`

/** Returns the part of an address that identifies a client: anyone with an IPv6 address has a network of 2^64 addresses. */
function clientOf(address: string): string {
  if (!isIPv6(address)) return address
  const [start = '', end] = address.split('::')
  const groups = (part: string | undefined): string[] => (part ? part.split(':') : [])
  const zeros = 8 - groups(start).length - groups(end).length
  return [...groups(start), ...(end === undefined ? [] : Array(zeros).fill('0')), ...groups(end)]
    .slice(0, 4)
    .join(':')
}
