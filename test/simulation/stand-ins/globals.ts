import { currentProcess, type ScheduledEvent, type SimulatedProcess } from '../kernel/index.ts'

/** The time of day at the start of every simulation. */
export const epochMs = Date.UTC(2026, 5, 15)

// Node.js treats other delays as 1 ms.
const maxDelayMs = 2 ** 31 - 1

/** A timer of a simulated process, with the methods of those of Node.js. */
class SimulatedTimer {
  private event: ScheduledEvent | undefined
  private readonly start: () => ScheduledEvent

  constructor(start: (timer: SimulatedTimer) => ScheduledEvent) {
    this.start = () => start(this)
    this.event = this.start()
  }

  refresh(): this {
    this.cancel()
    this.event = this.start()
    return this
  }

  restart(): void {
    if (this.event?.isCanceled === false) this.event = this.start()
  }

  cancel(): void {
    this.event?.cancel()
  }

  ref(): this {
    return this
  }

  unref(): this {
    return this
  }

  hasRef(): boolean {
    return true
  }

  close(): this {
    this.cancel()
    return this
  }

  [Symbol.dispose](): void {
    this.cancel()
  }
}

// Creating it for each timeout would take longer than most events.
const timeoutReason = new DOMException('The operation was aborted due to timeout', 'TimeoutError')

type Callback = (...args: unknown[]) => void

const delayOf = (delayMs: unknown): number => {
  const ms = Number(delayMs ?? 1)
  return ms >= 1 && ms <= maxDelayMs ? ms : 1
}

/** Returns the milliseconds since the start of the process, as its monotonic clock shows them. */
const monotonicMs = ({ machine, startedAtMs }: SimulatedProcess): number =>
  machine.simulation.scheduler.nowMs - startedAtMs

/** Returns the time of day as the process sees it, in epoch milliseconds. */
const timeOfDayMs = ({ machine }: SimulatedProcess): number =>
  Math.floor(epochMs + machine.simulation.scheduler.nowMs + machine.clockOffsetMs)

/**
 * Replaces timers, signals, clocks, and random numbers for code that runs in a simulated process. For all other code, they stay as they
 * are.
 */
export function replaceGlobals(): void {
  replaceTimers()
  replaceSignals()
  replaceClocks()
  const { random } = Math
  Math.random = () => (currentProcess()?.random ?? { next: random }).next()
}

function replaceTimers(): void {
  const real = {
    setTimeout: globalThis.setTimeout,
    setInterval: globalThis.setInterval,
    setImmediate: globalThis.setImmediate,
    clear: globalThis.clearTimeout,
    clearImmediate: globalThis.clearImmediate,
  }
  const begin =
    (
      otherwise: unknown,
      start: (process: SimulatedProcess, callback: Callback, delayMs: unknown) => SimulatedTimer,
    ) =>
    (callback: Callback, ...rest: unknown[]): unknown => {
      const process = currentProcess()
      return process === undefined
        ? (otherwise as Callback)(callback, ...rest)
        : start(process, callback, rest[0])
    }
  const end =
    (otherwise: (timer: never) => void) =>
    (timer: unknown): void => {
      if (timer instanceof SimulatedTimer) timer.cancel()
      else otherwise(timer as never)
    }
  Object.assign(globalThis, {
    setTimeout: begin(
      real.setTimeout,
      (process, callback, delayMs) => new SimulatedTimer(() => process.later(delayOf(delayMs), callback)),
    ),
    setInterval: begin(
      real.setInterval,
      (process, callback, periodMs) =>
        new SimulatedTimer((timer) =>
          process.later(delayOf(periodMs), () => {
            callback()
            timer.restart()
          }),
        ),
    ),
    setImmediate: (callback: Callback, ...args: unknown[]) => {
      const process = currentProcess()
      return process === undefined
        ? real.setImmediate(callback, ...args)
        : new SimulatedTimer(() => process.later(0, () => callback(...args)))
    },
    clearTimeout: end(real.clear),
    clearInterval: end(real.clear),
    clearImmediate: end(real.clearImmediate),
  })
}

function replaceSignals(): void {
  const realTimeout = AbortSignal.timeout
  AbortSignal.timeout = (delayMs) => {
    const process = currentProcess()
    if (process === undefined) return realTimeout(delayMs)
    const controller = new AbortController()
    process.later(delayMs, () => controller.abort(timeoutReason))
    return controller.signal
  }
  const realAny = AbortSignal.any
  AbortSignal.any = (given) => {
    const signals = [...given]
    return currentProcess() === undefined ? realAny(signals) : firstOf(signals)
  }
}

/**
 * Returns a signal that is aborted with the first of these. Node.js would keep one that has listeners forever, although the
 * simulation is over.
 */
function firstOf(signals: readonly AbortSignal[]): AbortSignal {
  const controller = new AbortController()
  const abort = (event: Event): void => {
    for (const signal of signals) signal.removeEventListener('abort', abort)
    controller.abort((event.target as AbortSignal).reason)
  }
  const aborted = signals.find((signal) => signal.aborted)
  if (aborted !== undefined) controller.abort(aborted.reason)
  else for (const signal of signals) signal.addEventListener('abort', abort)
  return controller.signal
}

function replaceClocks(): void {
  const realNow = performance.now.bind(performance)
  performance.now = () => {
    const process = currentProcess()
    return process === undefined ? realNow() : monotonicMs(process)
  }
  const RealDate = Date
  const nowMs = (): number => {
    const process = currentProcess()
    return process === undefined ? RealDate.now() : timeOfDayMs(process)
  }
  // A proxy would take several times as long for each call.
  function SimulatedDate(...args: [] | [number]): Date | string {
    if (new.target === undefined) return new RealDate(nowMs()).toString()
    return args.length === 0 ? new RealDate(nowMs()) : new RealDate(...args)
  }
  Object.setPrototypeOf(SimulatedDate, RealDate)
  globalThis.Date = Object.assign(SimulatedDate, { prototype: RealDate.prototype, now: nowMs }) as never
}
