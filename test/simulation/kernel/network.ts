import { systemError } from './disk.ts'
import type { Machine, SimulatedProcess } from './machine.ts'
import { type Random, randomOf } from './random.ts'
import type { Scheduler } from './scheduler.ts'

/**
 * The state of a connection between two machines. Slow: each message takes long. Late: each message to the first of them takes
 * seconds. Cut: messages arrive once the connection is sound again. Torn: connections break. Lossy: messages get lost, and some
 * arrive twice.
 */
export type LinkState = 'sound' | 'slow' | 'late' | 'cut' | 'torn' | 'lossy'

/** A message on its way. */
interface Message {
  /** Runs the arrival. If it belongs to a process, it is dropped once that process is dead. */
  readonly arrive: () => void
  readonly owner: SimulatedProcess | undefined
  /** The sender or the receiver notices that the connection broke. */
  readonly broken: () => void
  /** The message will be late, or never arrive. */
  readonly stuck: () => void
  /** Whether the receiver may get it twice, or never. Otherwise, what was lost is sent again. */
  readonly mayRepeat: boolean
}

interface Link {
  state: LinkState
  /** The machine for which messages are late in that state. */
  first: string
  /** Whether it is cut in addition. */
  isParted: boolean
  readonly random: Random
  waiting: Message[]
}

/** A call as the called process sees it. */
export interface Exchange {
  readonly caller: SimulatedProcess
  /** Whether the caller has timed out or died. */
  isClosed: boolean
  onClose: () => void
}

/** A call to the process on a machine. */
export interface Call<Answer> {
  readonly from: SimulatedProcess
  readonly to: Machine
  /** Runs in the called process. */
  serve(exchange: Exchange, target: SimulatedProcess): Answer | Promise<Answer>
  /** Whether a process listens; by default, it does as soon as it runs. */
  isListening?(target: SimulatedProcess): boolean
  /** The caller times out after this time, but only if a message is late. */
  readonly stuckTimeoutMs?: number
  readonly signal?: AbortSignal | undefined
  /** Whether the target may get the call twice, or never. */
  readonly mayRepeat?: boolean
}

const tornProbability = 0.6
const lossProbability = 0.15
const slowMs = 200
const maxLateMs = 4000
const retransmissionMs = 4000

/** The error of a connection that nobody accepts. */
const refusedError = (machine: string): NodeJS.ErrnoException =>
  Object.assign(systemError('ECONNREFUSED', machine), { syscall: 'connect' })
/** The error of a connection that broke. */
const resetError = (machine: string): NodeJS.ErrnoException => systemError('ECONNRESET', machine)
/** The error of a caller that has waited too long. */
const timeoutError = (machine: string): NodeJS.ErrnoException => systemError('ETIMEDOUT', machine)

/** The network between machines. Messages of different calls may overtake each other. */
export class Network {
  private readonly links = new Map<string, Map<string, Link>>()
  private readonly scheduler: Scheduler
  private readonly seed: number
  /** Typical latency in milliseconds. */
  latencyMs = 0.4

  constructor(seed: number, scheduler: Scheduler) {
    this.seed = seed
    this.scheduler = scheduler
  }

  /** Sets the state of the connection between two machines, in both directions. */
  setLink(a: string, b: string, state: LinkState): void {
    const link = this.link(a, b)
    link.state = state
    link.first = a
    this.deliverWaiting(link)
  }

  /** Cuts the connection between two machines, or restores it in its state. */
  part(a: string, b: string, isParted: boolean): void {
    const link = this.link(a, b)
    link.isParted = isParted
    this.deliverWaiting(link)
  }

  private deliverWaiting(link: Link): void {
    if (isCut(link)) return
    for (const message of link.waiting.splice(0)) this.deliver(link, message)
  }

  /** Calls the process on another machine. Rejects with an operating system error if the call fails. */
  call<Answer>(call: Call<Answer>): Promise<Answer> {
    if (call.signal?.aborted) return Promise.reject(call.signal.reason)
    return new PendingCall(this, call).promise
  }

  /** Sends a message. */
  send(from: Machine, to: Machine, message: Message): void {
    const link = this.link(from.name, to.name)
    if (!isCut(link)) this.deliver(link, message, to.name)
    else {
      message.stuck()
      link.waiting.push(message)
    }
  }

  private deliver(link: Link, message: Message, to?: string): void {
    const { arrive, owner, broken, stuck, mayRepeat } = message
    const { random, state } = link
    const latencyMs = this.latencyOf(link, to)
    if (state === 'torn' && random.isTrue(tornProbability)) {
      this.scheduler.schedule(latencyMs, undefined, broken)
      // The connection may break after the message has arrived.
      if (random.isTrue(0.5)) return
    }
    if (state === 'lossy' && random.isTrue(lossProbability)) {
      if (mayRepeat) stuck()
      else this.scheduler.schedule(retransmissionMs * random.next(), owner, arrive)
      return
    }
    if (state === 'lossy' && mayRepeat && random.isTrue(lossProbability))
      this.scheduler.schedule(retransmissionMs * random.next(), owner, arrive)
    this.scheduler.schedule(latencyMs, owner, arrive)
  }

  private latencyOf({ random, state, first }: Link, to: string | undefined): number {
    const base = this.latencyMs * (0.5 + random.next())
    if (state === 'slow') return slowMs * (0.5 + random.next())
    if (state === 'late' && to === first) return maxLateMs * random.next()
    return random.isTrue(0.01) ? base * 50 : base
  }

  private link(a: string, b: string): Link {
    const known = this.links.get(a)?.get(b)
    if (known !== undefined) return known
    const name = a < b ? `${a} ${b}` : `${b} ${a}`
    const link: Link = {
      state: 'sound',
      first: a,
      isParted: false,
      random: randomOf(this.seed, name),
      waiting: [],
    }
    for (const [from, to] of [
      [a, b],
      [b, a],
    ] as const) {
      const ofMachine = this.links.get(from) ?? new Map<string, Link>()
      this.links.set(from, ofMachine.set(to, link))
    }
    return link
  }
}

const isCut = ({ state, isParted }: Link): boolean => isParted || state === 'cut'
const ignore = (): void => undefined

/** A call from its start until its caller has an answer or an error. */
class PendingCall<Answer> {
  readonly promise: Promise<Answer>
  private readonly network: Network
  private readonly call: Call<Answer>
  private readonly resolvers = Promise.withResolvers<Answer>()
  private isOver = false
  private isStuck = false
  private leaveTarget: () => void = ignore

  constructor(network: Network, call: Call<Answer>) {
    this.network = network
    this.call = call
    this.promise = this.resolvers.promise
    const { from, to, signal, mayRepeat = false } = call
    signal?.addEventListener('abort', this.leave)
    network.send(from.machine, to, {
      arrive: () => this.arrive(),
      owner: undefined,
      broken: () => this.fail(resetError(to.name)),
      stuck: () => this.expire(),
      mayRepeat,
    })
  }

  private readonly leave = (): void => {
    this.settle(() => this.resolvers.reject(this.call.signal?.reason))
    this.leaveTarget()
  }

  private settle(finish: () => void): void {
    if (this.isOver) return
    this.isOver = true
    this.call.signal?.removeEventListener('abort', this.leave)
    finish()
  }

  /** Ends the call for the caller, which notices on its own that the call failed. */
  private fail(error: Error): void {
    this.call.from.later(0, () => this.settle(() => this.resolvers.reject(error)))
  }

  /** Gives up after some time, because a message is late. */
  private expire(): void {
    const { from, to, stuckTimeoutMs } = this.call
    if (this.isStuck || stuckTimeoutMs === undefined) return
    this.isStuck = true
    from.later(stuckTimeoutMs, () => {
      this.settle(() => this.resolvers.reject(timeoutError(to.name)))
      this.leaveTarget()
    })
  }

  private arrive(): void {
    const { to, isListening } = this.call
    const target = to.process
    if (target === undefined || isListening?.(target) === false) {
      this.answer(() => this.resolvers.reject(refusedError(to.name)))
      return
    }
    this.serve(target)
    // The caller left before its request arrived.
    if (this.isOver) this.leaveTarget()
  }

  private serve(target: SimulatedProcess): void {
    const { from, to } = this.call
    const exchange: Exchange = { caller: from, isClosed: false, onClose: ignore }
    const close = (): void => {
      if (exchange.isClosed) return
      exchange.isClosed = true
      exchange.onClose()
    }
    this.leaveTarget = () =>
      this.network.send(from.machine, to, {
        arrive: close,
        owner: target,
        broken: ignore,
        stuck: ignore,
        mayRepeat: false,
      })
    const watches = [
      from.onKill(this.leaveTarget),
      target.onKill(() => this.answer(() => this.resolvers.reject(resetError(to.name)))),
    ]
    const end = (finish: () => void): void => {
      for (const stop of watches) stop()
      this.answer(finish)
    }
    const resolve = (answer: Answer): void => end(() => this.resolvers.resolve(answer))
    const reject = (error: unknown): void => end(() => this.resolvers.reject(error))
    const run = (): void => {
      try {
        const answer = this.call.serve(exchange, target)
        if (answer instanceof Promise) answer.then(resolve, reject)
        else resolve(answer)
      } catch (error) {
        reject(error)
      }
    }
    if (target.isPaused) {
      this.expire()
      target.hold(run)
    } else target.enter(run)
  }

  /** Sends the end of the call to the caller. */
  private answer(finish: () => void): void {
    const { from, to } = this.call
    this.network.send(to, from.machine, {
      arrive: () => this.settle(finish),
      owner: from,
      broken: () => this.fail(resetError(to.name)),
      stuck: () => this.expire(),
      mayRepeat: false,
    })
  }
}
