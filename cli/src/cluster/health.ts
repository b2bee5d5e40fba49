import { once } from 'node:events'
import { Agent as PlainAgent } from 'node:http'
import { Agent as TlsAgent } from 'node:https'
import { connect, type Socket } from 'node:net'
import { describeConnectionError, errorMessageOf, hasNoResponse, sendRequest } from '../client/index.ts'

/** Whether a service is healthy, and if not, why, if it says so. */
export interface Health {
  readonly isHealthy: boolean
  /** One sentence; undefined if nothing is wrong or nothing is known. */
  readonly problem: string | undefined
  /** Whether the service itself reported the problem; false if it could not be queried. */
  readonly isReported: boolean
  /** Whether the service accepted the connection but did not respond, for example because it hangs. */
  readonly isUnresponsive?: boolean
}

const timeoutMs = 2000

/** Queries once whether a service is ready to serve (`/status/health`). */
export async function fetchHealth(url: string, trusted: string | undefined): Promise<Health> {
  return query(`${url}/status/health`, url, trusted)
}

/** Queries once whether a service is ready and has no problems (`/status/ready`). */
export async function fetchReadiness(url: string, trusted: string | undefined): Promise<Health> {
  return query(`${url}/status/ready`, url, trusted)
}

/** Queries repeatedly whether a service is ready to serve. Keeps its connection, because TLS handshakes take time. */
export interface HealthProbe {
  fetch(): Promise<Health>
  close(): void
}

/** Creates a probe of a service, which may not have started yet. */
export function createHealthProbe(url: string, trusted: string | undefined): HealthProbe {
  const agent = new (url.startsWith('https:') ? TlsAgent : PlainAgent)({ keepAlive: true, maxSockets: 1 })
  let isConnected = false
  return {
    fetch: async () => {
      const health = await query(`${url}/status/health`, url, trusted, { agent, isConnected })
      isConnected = health.isReported
      return health
    },
    close: () => agent.destroy(),
  }
}

async function query(
  healthUrl: string,
  url: string,
  trusted: string | undefined,
  connection?: { readonly agent: PlainAgent; readonly isConnected: boolean },
): Promise<Health> {
  // The port is usually closed during startup, and a plain connection is the cheapest way to find out.
  if (!connection?.isConnected && !(await isListening(url)))
    return { isHealthy: false, problem: undefined, isReported: false }
  try {
    const answer = await sendRequest({
      url: healthUrl,
      trusted,
      timeoutMs,
      ...(connection ? { agent: connection.agent } : {}),
    })
    if (answer.status === 200 && answer.body === true)
      return { isHealthy: true, problem: undefined, isReported: true }
    return { isHealthy: false, problem: errorMessageOf(answer), isReported: true }
  } catch (error) {
    if (hasNoResponse(error)) {
      const problem = `No response within ${timeoutMs / 1000} s`
      return { isHealthy: false, problem, isReported: false, isUnresponsive: true }
    }
    return { isHealthy: false, problem: `no response (${describeConnectionError(error)})`, isReported: false }
  }
}

/** Whether a process listens on the host and port of a URL. */
export async function isListening(url: string): Promise<boolean> {
  const { hostname, port } = new URL(url)
  return reachesListener(connect(Number(port), hostname.replace(/^\[|\]$/g, '')))
}

/**
 * Whether a socket that has begun to connect reaches a process that listens. Closes the socket. If the port is in the range of
 * outgoing ports and nobody listens, the system may give the port to this socket, which then connects to itself. Such a connection
 * is reset, because closing it would block the port for a minute (TIME-WAIT).
 */
export async function reachesListener(socket: Socket): Promise<boolean> {
  try {
    await once(socket, 'connect')
    const reachesItself =
      socket.localPort === socket.remotePort && socket.localAddress === socket.remoteAddress
    if (reachesItself) socket.resetAndDestroy()
    return !reachesItself
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}
