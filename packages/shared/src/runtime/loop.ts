/** A repeated piece of work; the next run starts a while after the last one has ended. */
export interface Loop {
  /** Runs as soon as possible, without waiting for the period. */
  wake(): void
  /** No further run starts; resolves when the one under way has ended. */
  stop(): Promise<void>
}

// Longer waits than this would be taken for none at all.
const longestTimerMs = 2 ** 31 - 1

/**
 * Runs `work` again and again, `delayMs` after each end. `work`, and `onError` where it failed, may answer
 * a number: another delay before the next run.
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
      const asked = await work().catch(onError)
      if (stopped) break
      if (!woken) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(
            resolve,
            Math.min(typeof asked === 'number' ? asked : delayMs, longestTimerMs),
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

/** Waits that grow from `firstMs`, doubling, to `mostMs`; `reset` starts again from the first. */
export function growingDelay(firstMs: number, mostMs: number): { next(): number; reset(): void } {
  let delayMs = firstMs
  return {
    next: () => {
      const current = delayMs
      delayMs = Math.min(delayMs * 2, mostMs)
      return current
    },
    reset: () => {
      delayMs = firstMs
    },
  }
}
