/** Who an event belongs to. Events of an owner that is not alive are dropped, and those of a paused one are held. */
export interface EventOwner {
  readonly isAlive: boolean
  readonly isPaused: boolean
  /** Mixed with the time, it orders events of different owners at the same time. */
  readonly salt: number
  /** Runs a callback as this owner. */
  enter(run: () => void): void
  /** Keeps an event until the owner continues. */
  hold(run: () => void): void
}

/** A scheduled event, which can be canceled. */
export interface ScheduledEvent {
  readonly isCanceled: boolean
  cancel(): void
}

const ignore = (): void => undefined

class QueuedEvent implements ScheduledEvent {
  readonly atMs: number
  readonly order: number
  readonly sequence: number
  readonly owner: EventOwner | undefined
  run: () => void
  isCanceled = false

  constructor(atMs: number, order: number, sequence: number, owner: EventOwner | undefined, run: () => void) {
    this.atMs = atMs
    this.order = order
    this.sequence = sequence
    this.owner = owner
    this.run = run
  }

  /** Forgets the callback: the event stays in the queue until its time, and everything that the callback refers to would, too. */
  cancel(): void {
    this.isCanceled = true
    this.run = ignore
  }
}

// So many events without any progress of time are an endless loop.
const maxEventsAtOnce = 200_000

// Steps per turn of the loop of the real process.
const stepsPerTurn = 512

// The loop of the real process. The globals may be replaced by simulated ones.
const { setImmediate: nextTurn } = globalThis

/**
 * The clock of a simulation: runs events in the order of their times. The owners of events at the same time take turns
 * in an order that depends on the seed; events of one owner keep the order in which they were scheduled.
 */
export class Scheduler {
  nowMs = 0
  /** Number of events that were run. */
  steps = 0
  /** Changes with every event that is run, so that equal values mean equal runs. */
  fingerprint: number
  private readonly heap: QueuedEvent[] = []
  private sequence = 0
  private eventsAtOnce = 0
  /** Called after each event, when everything that it started has run. */
  afterStep: () => void = () => undefined

  constructor(seed: number) {
    this.fingerprint = seed >>> 0
  }

  /** Runs a callback after a delay, as its owner if it has one. */
  schedule(delayMs: number, owner: EventOwner | undefined, run: () => void): ScheduledEvent {
    const atMs = this.nowMs + Math.max(delayMs, 0)
    const order = mix((owner?.salt ?? 0) ^ mix(Math.floor(atMs * 1000)))
    const event = new QueuedEvent(atMs, order, this.sequence++, owner, run)
    this.push(event)
    return event
  }

  /** Runs events until `isOver` returns true or the time is up. Returns whether it is over. */
  runUntil(isOver: () => boolean, untilMs: number): Promise<boolean> {
    const { promise, resolve, reject } = Promise.withResolvers<boolean>()
    let isDone = false
    const finish = (settle: () => void): void => {
      isDone = true
      settle()
    }
    const turn = (): void => {
      if (isDone) return
      try {
        this.afterStep()
        if (isOver()) finish(() => resolve(true))
        else if (!this.step(untilMs)) finish(() => resolve(isOver()))
      } catch (error) {
        finish(() => reject(error))
      }
    }
    // Node.js settles promises after each of these callbacks. Several of them share a turn of its loop, which takes time itself.
    const turns = (): void => {
      if (isDone) return
      for (let count = 1; count < stepsPerTurn; count++) nextTurn(turn)
      nextTurn(() => {
        turn()
        turns()
      })
    }
    turns()
    return promise
  }

  /**
   * Runs the next event. What it starts runs before the next turn of the loop: promises settle, but no time passes. Returns false
   * if there is none before the end.
   */
  private step(untilMs: number): boolean {
    for (let next = this.heap[0]; next !== undefined && next.atMs <= untilMs; next = this.heap[0]) {
      this.pop()
      if (next.isCanceled || next.owner?.isAlive === false) continue
      this.run(next)
      return true
    }
    this.nowMs = Math.max(this.nowMs, untilMs)
    return false
  }

  private run({ atMs, owner, run, order }: QueuedEvent): void {
    this.eventsAtOnce = atMs > this.nowMs ? 0 : this.eventsAtOnce + 1
    if (this.eventsAtOnce > maxEventsAtOnce) throw new Error(`Endless loop at ${this.nowMs} ms`)
    this.nowMs = atMs
    this.steps += 1
    this.fingerprint = mix(this.fingerprint ^ order)
    if (owner === undefined) run()
    else if (owner.isPaused) owner.hold(run)
    else owner.enter(run)
  }

  private push(event: QueuedEvent): void {
    const { heap } = this
    let index = heap.length
    heap.push(event)
    while (index > 0) {
      const parent = (index - 1) >> 1
      const other = heap[parent]!
      if (!isBefore(event, other)) break
      heap[index] = other
      index = parent
    }
    heap[index] = event
  }

  private pop(): void {
    const { heap } = this
    const last = heap.pop()!
    if (heap.length === 0) return
    let index = 0
    for (;;) {
      let child = 2 * index + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child += 1
      if (!isBefore(heap[child]!, last)) break
      heap[index] = heap[child]!
      index = child
    }
    heap[index] = last
  }
}

function isBefore(a: QueuedEvent, b: QueuedEvent): boolean {
  if (a.atMs !== b.atMs) return a.atMs < b.atMs
  return a.order === b.order ? a.sequence < b.sequence : a.order < b.order
}

/** Returns a number from 0 to 2^32 - 1 that looks random, and is the same for the same number. */
export function mix(number: number): number {
  let mixed = Math.imul(number ^ (number >>> 16), 0x21f0aaad)
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97)
  return (mixed ^ (mixed >>> 15)) >>> 0
}
