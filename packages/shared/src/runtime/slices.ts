import { setImmediate } from 'node:timers/promises'
import { unavailable } from '@svc/domain/failure'

/** Runs long calculations one after the other, with pauses for other work every few milliseconds. */
export interface Slices {
  /** Runs a calculation to its end. Throws an unavailable Failure if too many are waiting, or if `signal` is aborted. */
  run<Result>(calculation: () => Generator<undefined, Result>, signal: AbortSignal): Promise<Result>
}

// Max time that a calculation blocks other requests.
const maxSliceMs = 8
const maxWaiting = 16

export function createSlices(): Slices {
  let last: Promise<unknown> = Promise.resolve()
  let waiting = 0

  async function work<Result>(
    calculation: () => Generator<undefined, Result>,
    signal: AbortSignal,
  ): Promise<Result> {
    const steps = calculation()
    for (;;) {
      if (signal.aborted) throw unavailable('The caller disconnected before the preview was ready')
      const startedAt = performance.now()
      while (performance.now() - startedAt < maxSliceMs) {
        const step = steps.next()
        if (step.done) return step.value
      }
      await setImmediate()
    }
  }

  return {
    run: async (calculation, signal) => {
      if (waiting >= maxWaiting)
        throw unavailable(`Too many pending previews [${waiting}]: try again in a moment`)
      waiting += 1
      const turn = last.then(() => work(calculation, signal))
      last = turn.catch(() => undefined)
      try {
        return await turn
      } finally {
        waiting -= 1
      }
    },
  }
}
