import { createLoginConcurrencyLimit } from './login-concurrency-limit.ts'

// Concurrent requests of this server to one directory, and requests that may wait. Further requests are rejected.
const maxRequests = 8
const maxWaitingRequests = 256

// Pause after a directory did not respond. Then, one request tries it again while the others are still rejected.
const pauseMs = 1000

/** A directory did not respond in time. `isRepeated`: the request was not sent, because earlier ones had failed. */
export class LdapUnavailable extends Error {
  readonly isRepeated: boolean

  constructor(message: string, isRepeated: boolean) {
    super(message)
    this.isRepeated = isRepeated
  }
}

const leftAlone = () => new LdapUnavailable('The directory is not responding to other logins', true)
const tooLate = (maxMs: number) => new LdapUnavailable(`No response within [${maxMs}] ms`, false)

/** Keeps an unresponsive directory from blocking logins. */
export interface LdapGuard {
  /**
   * Sends a request to the directory, with a signal that aborts it on timeout. Throws `LdapUnavailable` after at most
   * `maxMs`, including the time in the queue, or immediately during a pause.
   */
  run<Answer>(request: (signal: AbortSignal) => Promise<Answer>): Promise<Answer>
}

/**
 * Creates a guard that gives each request `maxMs`; `isUnavailable` returns whether an error means that the directory is
 * unavailable.
 */
export function createLdapGuard(maxMs: number, isUnavailable: (error: unknown) => boolean): LdapGuard {
  const limit = createLoginConcurrencyLimit(maxRequests, maxWaitingRequests)
  let failedAt = Number.NEGATIVE_INFINITY
  let isFailing = false
  let isTrying = false

  const isPaused = () => isFailing && (isTrying || performance.now() - failedAt < pauseMs)

  async function runNow<Answer>(
    request: (signal: AbortSignal) => Promise<Answer>,
    signal: AbortSignal,
    late: Promise<never>,
  ): Promise<Answer> {
    // The directory may have become unresponsive while this request was queued.
    if (isPaused() || signal.aborted) throw leftAlone()
    const isTrial = isFailing
    if (isTrial) isTrying = true
    try {
      const answer = await Promise.race([request(signal), late])
      isFailing = false
      return answer
    } catch (error) {
      if (isUnavailable(error)) {
        isFailing = true
        failedAt = performance.now()
      }
      throw error
    } finally {
      if (isTrial) isTrying = false
    }
  }

  return {
    run: async (request) => {
      if (isPaused()) throw leftAlone()
      const controller = new AbortController()
      let timer: NodeJS.Timeout | undefined
      const late = new Promise<never>((_resolve, reject) => {
        timer = setTimeout(() => {
          controller.abort()
          reject(tooLate(maxMs))
        }, maxMs)
      })
      const running = limit(() => runNow(request, controller.signal, late))
      // Nothing awaits a request that ends after its timeout.
      running.catch(() => undefined)
      try {
        return await Promise.race([running, late])
      } finally {
        clearTimeout(timer)
      }
    },
  }
}
