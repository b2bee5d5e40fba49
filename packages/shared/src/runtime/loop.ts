/** Repeated work; the next run starts with a delay after the previous one has ended. */
export interface Loop {
  /** Runs as soon as possible, without waiting for the period. */
  wake(): void
  /** Starts no further run; resolves when the run in progress has ended. */
  stop(): Promise<void>
}

// Timers treat longer delays as no delay at all.
const maxTimerMs = 2 ** 31 - 1

/**
 * Runs `work` repeatedly, `delayMs` after each end. `work`, or `onError` after a failure, may return a number: a
 * different delay before the next run.
 */
export function startLoop(
  delayMs: number,
  work: () => Promise<unknown>,
  onError: (error: unknown) => unknown,
): Loop {
  let stopped = false
  let wakeSleeper: (() => void) | undefined
  let woken = false
  const done = (async () => {
    while (!stopped) {
      woken = false
      const nextDelay = await work().catch(onError)
      if (stopped) break
      if (!woken) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(
            resolve,
            Math.min(typeof nextDelay === 'number' ? nextDelay : delayMs, maxTimerMs),
          )
          wakeSleeper = () => {
            clearTimeout(timer)
            resolve()
          }
        })
      }
      wakeSleeper = undefined
    }
  })()
  const wake = () => {
    woken = true
    wakeSleeper?.()
  }
  return {
    wake,
    stop: async () => {
      stopped = true
      wake()
      await done
    },
  }
}

/** Returns delays that double from `firstMs` up to `maxMs`; `reset` starts over. */
export function growingDelay(firstMs: number, maxMs: number): { next(): number; reset(): void } {
  let delayMs = firstMs
  return {
    next: () => {
      const current = delayMs
      delayMs = Math.min(delayMs * 2, maxMs)
      return current
    },
    reset: () => {
      delayMs = firstMs
    },
  }
}
