import { once } from 'node:events'
import { connect } from 'node:net'
import { describeConnectionError, errorMessageOf, sendRequest } from '../client/index.ts'

/** Whether a service is healthy, and if not, why, if it says so. */
export interface Health {
  readonly isHealthy: boolean
  /** One sentence; undefined if nothing is wrong or nothing is known. */
  readonly problem: string | undefined
  /** Whether the service itself reported the problem; false if it could not be queried. */
  readonly isReported: boolean
}

/** Queries once whether a service is ready to serve (`/status/health`). */
export async function fetchHealth(url: string, trusted: string | undefined): Promise<Health> {
  return query(`${url}/status/health`, url, trusted)
}

/** Queries once whether a service is ready and has no problems (`/status/ready`). */
export async function fetchReadiness(url: string, trusted: string | undefined): Promise<Health> {
  return query(`${url}/status/ready`, url, trusted)
}

async function query(healthUrl: string, url: string, trusted: string | undefined): Promise<Health> {
  // The port is usually closed during startup, and a plain connection is the cheapest way to find out.
  if (!(await isListening(url))) return { isHealthy: false, problem: undefined, isReported: false }
  try {
    const answer = await sendRequest({ url: healthUrl, trusted, timeoutMs: 2000 })
    if (answer.status === 200 && answer.body === true)
      return { isHealthy: true, problem: undefined, isReported: true }
    return { isHealthy: false, problem: errorMessageOf(answer), isReported: true }
  } catch (error) {
    return { isHealthy: false, problem: `no response: ${describeConnectionError(error)}`, isReported: false }
  }
}

/** Whether a process listens on the host and port of a URL. */
export async function isListening(url: string): Promise<boolean> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname.replace(/^\[|\]$/g, ''))
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}
