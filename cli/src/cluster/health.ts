import { once } from 'node:events'
import { connect } from 'node:net'
import { describeError } from '@svc/domain/failure'
import { errorMessageOf, sendRequest } from '../client/index.ts'

/** Whether a service serves, and if not, why, as far as it tells. */
export interface Health {
  readonly isHealthy: boolean
  /** One sentence; undefined while nothing is known or nothing is wrong. */
  readonly problem: string | undefined
  /** Whether the problem is the service's own word, not what kept it from being asked. */
  readonly isTold: boolean
}

/** Asks a service once: is it ready to serve (`/status/health`)? */
export async function askHealth(url: string, trusted: string | undefined): Promise<Health> {
  return ask(`${url}/status/health`, url, trusted)
}

/** Asks a service once: does it serve, and is nothing in its way (`/status/ready`)? */
export async function askReadiness(url: string, trusted: string | undefined): Promise<Health> {
  return ask(`${url}/status/ready`, url, trusted)
}

async function ask(question: string, url: string, trusted: string | undefined): Promise<Health> {
  // A closed port is the usual answer during a start, and the bare socket finds that out at the least cost.
  if (!(await isListening(url))) return { isHealthy: false, problem: undefined, isTold: false }
  try {
    const answer = await sendRequest({ url: question, trusted, timeoutMs: 2000 })
    if (answer.status === 200 && answer.body === true)
      return { isHealthy: true, problem: undefined, isTold: true }
    return { isHealthy: false, problem: errorMessageOf(answer), isTold: true }
  } catch (error) {
    return { isHealthy: false, problem: `no answer: ${describeError(error)}`, isTold: false }
  }
}

/** Whether somebody listens at the host and port of a URL. */
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
