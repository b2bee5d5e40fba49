import type { ServiceContext } from '@svc/shared/service'
import { Agent } from 'undici'
import { maxConnections } from './connection-shares.ts'
import { headersTimeoutMs } from './sent-request.ts'

// A server on a busy machine can take more than 5 s to accept a hundred connections at once.
const connectTimeoutMs = 10_000

/** The connections of the router to other servers. */
export interface Agents {
  /** Returns the agent for the current certificates. */
  current(): Agent
  close(): Promise<void>
}

/** Creates connections that use the certificates of the stores. */
export function createAgents(stores: ServiceContext['stores']): Agents {
  const createAgent = () =>
    new Agent({
      connections: maxConnections,
      headersTimeout: headersTimeoutMs,
      bodyTimeout: 0,
      // Servers close idle connections after 65 s, possibly while a request is on its way, so close them well before.
      keepAliveMaxTimeout: 30_000,
      // The servers speak HTTP/1, and bundles leave out HTTP/2.
      allowH2: false,
      connect: { ...stores.current().client, timeout: connectTimeoutMs },
    })
  let agent = createAgent()
  stores.onChange(() => {
    // The old agent finishes its requests.
    agent.close().catch(() => undefined)
    agent = createAgent()
  })
  return { current: () => agent, close: () => agent.close() }
}
