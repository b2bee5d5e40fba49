import { createLoginLimit } from './login-limit.ts'

// Requests that one directory serves at a time for this server; further ones wait, and beyond those they are refused.
const maxRequests = 8
const maxWaitingRequests = 256

// How long a directory that did not answer is left alone. Then one request tries it, while others are still refused.
const pauseMs = 1000

/** A directory did not answer in time; `isRepeated` where this request did not even try it, as others had failed. */
export class DirectoryAway extends Error {
  readonly isRepeated: boolean

  constructor(message: string, isRepeated: boolean) {
    super(message)
    this.isRepeated = isRepeated
  }
}

const leftAlone = () => new DirectoryAway('It did not answer other logins', true)
const tooLate = (maxMs: number) => new DirectoryAway(`No answer within [${maxMs}] ms`, false)

/** Keeps a directory that hangs from holding up logins. */
export interface DirectoryGuard {
  /**
   * Runs a request against the directory, with a signal that aborts it when its time is over. Throws `DirectoryAway`
   * after `maxMs` at the latest, waiting for a free place included, and at once while the directory is left alone.
   */
  run<Answer>(request: (signal: AbortSignal) => Promise<Answer>): Promise<Answer>
}

/** A guard that allows each request `maxMs`; `isAway` says whether a failed request means that the directory is away. */
export function createDirectoryGuard(maxMs: number, isAway: (error: unknown) => boolean): DirectoryGuard {
  const limit = createLoginLimit(maxRequests, maxWaitingRequests)
  let failedAt = Number.NEGATIVE_INFINITY
  let isFailing = false
  let isTrying = false

  const isPaused = () => isFailing && (isTrying || performance.now() - failedAt < pauseMs)

  async function runNow<Answer>(
    request: (signal: AbortSignal) => Promise<Answer>,
    signal: AbortSignal,
    late: Promise<never>,
  ): Promise<Answer> {
    // The directory may have stopped answering while this request waited for its turn.
    if (isPaused() || signal.aborted) throw leftAlone()
    const isTrial = isFailing
    if (isTrial) isTrying = true
    try {
      const answer = await Promise.race([request(signal), late])
      isFailing = false
      return answer
    } catch (error) {
      if (isAway(error)) {
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
      // What ends after its time is over has nobody left who waits for it.
      running.catch(() => undefined)
      try {
        return await Promise.race([running, late])
      } finally {
        clearTimeout(timer)
      }
    },
  }
}
