import { type IncomingMessage, Agent as PlainAgent, request as plainRequest } from 'node:http'
import { Agent as TlsAgent, request as tlsRequest } from 'node:https'
import type { ClientTls, FollowedStores } from '../tls/index.ts'

/** A request as it is sent. */
export interface SentRequest {
  readonly method: string
  readonly headers: Readonly<Record<string, string | number>>
  readonly data: Buffer | undefined
  readonly signal: AbortSignal
}

/** The connections of a client to other servers. */
export interface Connections {
  /** Sends a request, and resolves with the response once its head has arrived. */
  send(url: URL, request: SentRequest): Promise<IncomingMessage>
  close(): void
}

/** Opens connections that are kept alive, with the current certificates. */
export function openConnections(stores: FollowedStores): Connections {
  const plain = new PlainAgent({ keepAlive: true, maxSockets: 64 })
  let tls = createTlsAgent(stores.current().client)
  stores.onChange(() => {
    retire(tls)
    tls = createTlsAgent(stores.current().client)
  })
  return {
    send: (url, { data, ...options }) =>
      new Promise((resolve, reject) => {
        const secure = url.protocol === 'https:'
        const agent = secure ? tls : plain
        const request = (secure ? tlsRequest : plainRequest)(url, { ...options, agent }, resolve)
        request.on('error', reject)
        request.end(data)
      }),
    close: () => {
      tls.destroy()
      plain.destroy()
    },
  }
}

// Connections are kept alive; a new one verifies the certificate again, which a resumed session would not do.
const createTlsAgent = (tls: ClientTls): TlsAgent =>
  new TlsAgent({ ...tls, keepAlive: true, maxSockets: 64, maxCachedSessions: 0 })

/** Lets calls in flight finish, but reuses no connection. */
function retire(agent: TlsAgent): void {
  agent.maxFreeSockets = 0
  for (const sockets of Object.values(agent.freeSockets)) for (const socket of sockets ?? []) socket.destroy()
}
