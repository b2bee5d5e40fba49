import { setImmediate, setTimeout } from 'node:timers/promises'
import { tooLarge, unavailable } from '@svc/domain/failure'

/** Runs long calculations one after the other, with pauses for other work every few milliseconds. */
export interface Slices {
  /**
   * Runs a calculation that yields regularly. Throws unavailable if too many are waiting or `signal` is aborted, and
   * tooLarge after half a minute of work.
   */
  run<Result>(calculation: () => Generator<undefined, Result>, signal: AbortSignal): Promise<Result>
}

const maxWaiting = 16
// No calculation takes longer than this, because others wait for it. A million segments take a few seconds.
const maxCalculationMs = 30_000

// How long other requests wait for a calculation.
const maxSliceMs = 4

// A request waits for other work several times: before it is read, after each query, and before its answer is sent. So
// calculations that nothing waits for leave most of the time to requests.
const maxBackgroundSliceMs = 2
const backgroundPauseMs = 4

/** Runs a calculation for a few milliseconds. Returns its result once it is finished, and undefined before. */
function runSlice<Result>(
  steps: Generator<undefined, Result>,
  maxMs = maxSliceMs,
): IteratorReturnResult<Result> | undefined {
  const startedAt = performance.now()
  while (performance.now() - startedAt < maxMs) {
    const step = steps.next()
    if (step.done) return step
  }
  return undefined
}

/** Waits until other work has run. */
export type NextTurn = () => Promise<void>

/** Returns a function that lets one piece of work at a time continue, however many are waiting. Each one waits with `wait`. */
export function createTurns(wait: NextTurn = () => setImmediate()): NextTurn {
  let lastTurn: Promise<void> = Promise.resolve()
  return () => {
    lastTurn = lastTurn.then(wait)
    return lastTurn
  }
}

const nextTurn = createTurns()

let inProgress = 0

/** Returns a function for calculations that together get as many slices as a single one. */
export const createSharedTurns = (): NextTurn => createTurns(nextTurn)

/** Runs a calculation to its end, with pauses for other work every few milliseconds. */
export async function finishInSlices<Result>(
  steps: Generator<undefined, Result>,
  next: NextTurn = nextTurn,
): Promise<Result> {
  inProgress += 1
  try {
    // A short calculation finishes at once. While others run, the first slice waits for its turn, too.
    if (inProgress > 1) await next()
    for (;;) {
      const finished = runSlice(steps)
      if (finished) return finished.value
      await next()
    }
  } finally {
    inProgress -= 1
  }
}

/**
 * Runs a calculation to its end in the background: with short slices and long pauses as long as `isAwaited` returns false, and
 * then as fast as `finishInSlices`.
 */
export async function finishInBackground<Result>(
  steps: Generator<undefined, Result>,
  isAwaited: () => boolean,
): Promise<Result> {
  while (!isAwaited()) {
    const finished = runSlice(steps, maxBackgroundSliceMs)
    if (finished) return finished.value
    await setTimeout(backgroundPauseMs)
  }
  return await finishInSlices(steps)
}

export function createSlices(): Slices {
  let last: Promise<unknown> = Promise.resolve()
  let waiting = 0

  async function work<Result>(
    calculation: () => Generator<undefined, Result>,
    signal: AbortSignal,
  ): Promise<Result> {
    const steps = calculation()
    let workedMs = 0
    for (;;) {
      if (signal.aborted) throw unavailable('The caller disconnected before the preview was ready')
      const startedAt = performance.now()
      const finished = runSlice(steps)
      if (finished) return finished.value
      workedMs += performance.now() - startedAt
      if (workedMs > maxCalculationMs) {
        throw tooLarge(
          `The preview took longer than [${maxCalculationMs / 1000}] seconds; request fewer rules, segments, servers, or steps`,
        )
      }
      await nextTurn()
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
