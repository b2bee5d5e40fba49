import type { Server } from 'node:http'
import { isIPv6, type Socket } from 'node:net'
import type { Settings } from '../config/index.ts'
import { peerAddress } from './client-certificates.ts'

/** A connection that was refused because too many are open. */
export interface RefusedConnection {
  readonly address: string
  /** The limit that was reached: of one address, or of all. */
  readonly limit: 'address' | 'total'
}

/** Limits the open connections of a server, on all its ports together. Idle connections cost memory, too. */
export class ConnectionLimits {
  private readonly max: number
  private readonly maxPerAddress: number
  private readonly onRefused: (refused: RefusedConnection) => void
  private readonly openFrom = new Map<string, number>()
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
  }

  private admit(socket: Socket): boolean {
    const address = peerAddress(socket)
    const client = clientOf(address)
    const own = this.openFrom.get(client) ?? 0
    const limit = own >= this.maxPerAddress ? 'address' : this.open >= this.max ? 'total' : undefined
    if (limit !== undefined) {
      this.onRefused({ address, limit })
      return false
    }
    this.count(client, 1)
    socket.once('close', () => this.count(client, -1))
    return true
  }

  private count(client: string, by: number): void {
    this.open += by
    const own = (this.openFrom.get(client) ?? 0) + by
    if (own === 0) this.openFrom.delete(client)
    else this.openFrom.set(client, own)
  }
}

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
