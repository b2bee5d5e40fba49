import { type ChildProcess, fork } from 'node:child_process'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { maxLong } from '@svc/domain/query-scheduling'
import { lowerPriority } from '@svc/shared/runtime'
import { answerDescriptor } from './query-protocol.ts'

const processFile = fileURLToPath(new URL('./query-process-main.ts', import.meta.url))

/** A process that runs one query at a time. */
export interface QueryProcess {
  readonly child: ChildProcess
  readonly answers: Readable
  /** Resolves when the process reads commands or has ended. */
  readonly ready: Promise<void>
  /** Whether it reads commands. */
  isReady: boolean
  /** Whether it can run another query after this one. */
  isUsable: boolean
  /** Undefined unless an expensive query has lowered its priority, which cannot be raised again. */
  slow: { readonly caller: string; readonly untilMs: number } | undefined
  /** Resolves when its canceled query has ended, and all bytes of the result have been read. */
  ending: Promise<void> | undefined
  idleTimer: NodeJS.Timeout | undefined
}

// Time after which an idle process is stopped to free its memory.
const idleMs = 30_000
// For this long after an expensive query, queries of its caller use the slow process again. Starting a process for each of them would
// take CPU time from other callers.
const slowMs = 10_000
// Queries have a lower priority than servers: a server that does not get its turn cannot accept connections in time.
const niceness = 5
const lowestPriority = 19

/** Query processes in use and idle ones. */
export class ProcessPool {
  private readonly idle: QueryProcess[] = []
  private readonly all = new Set<QueryProcess>()
  private readonly onUnused = new Set<() => void>()
  private inUse = 0
  private stopped = false
  private readonly spillDirectory: string
  private readonly maxRunning: number

  /** `maxRunning` is the max number of queries that run at a time. */
  constructor(spillDirectory: string, maxRunning: number) {
    this.spillDirectory = spillDirectory
    this.maxRunning = maxRunning
  }

  get isStopped(): boolean {
    return this.stopped
  }

  /** Returns an idle process for a query of a caller, or starts one. */
  take(caller: string): QueryProcess {
    this.inUse += 1
    return this.takeIdle(caller) ?? this.start()
  }

  /**
   * Gives the process of an expensive query little CPU time while others need it. Meanwhile, spare processes start for queries of
   * other callers.
   */
  slowDown(used: QueryProcess, caller: string): void {
    used.slow = { caller, untilMs: performance.now() + slowMs }
    lowerPriority(used.child.pid, lowestPriority)
    this.startSpares()
  }

  /** Keeps a process for another query, or kills it if it cannot run one. */
  giveBack(used: QueryProcess): void {
    this.inUse -= 1
    const isOutdated = used.slow !== undefined && performance.now() >= used.slow.untilMs
    if (used.isUsable && !isOutdated && !this.stopped) this.keep(used)
    else used.child.kill('SIGKILL')
    if (this.inUse === 0) for (const notify of this.onUnused) notify()
  }

  /**
   * Starts processes, one after the other, until there are enough for the short queries that may run next to an expensive query, so
   * that they do not wait for one to start.
   */
  private startSpares(): void {
    const isStarting = this.idle.some(({ isReady }) => !isReady)
    if (this.stopped || isStarting || this.usableCount >= this.minUsable) return
    const spare = this.start()
    this.keep(spare)
    void spare.ready.then(() => {
      if (spare.isReady) this.startSpares()
    })
  }

  /** Resolves when no process is in use, or after `maxMs`. */
  async untilUnused(maxMs: number): Promise<void> {
    if (this.inUse === 0) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, maxMs)
    this.onUnused.add(resolve)
    await promise
    this.onUnused.delete(resolve)
    clearTimeout(timer)
  }

  /** Kills all processes. */
  stop(): void {
    this.stopped = true
    for (const { child } of this.all) child.kill('SIGKILL')
  }

  /** Number of processes that can run queries of all callers: not those of expensive queries. */
  private get usableCount(): number {
    return [...this.all].filter(({ isUsable, slow }) => isUsable && slow === undefined).length
  }

  /** Number of processes that are reserved for short queries. */
  private get minUsable(): number {
    return Math.max(1, this.maxRunning - maxLong(this.maxRunning))
  }

  /** Takes a slow process of the caller if there is one; else a ready one; else one that is starting. */
  private takeIdle(caller: string): QueryProcess | undefined {
    const taken =
      this.idle.find(({ slow }) => slow?.caller === caller) ??
      this.idle.findLast(({ slow, isReady }) => slow === undefined && isReady) ??
      this.idle.findLast(({ slow }) => slow === undefined)
    if (taken) this.leaveIdle(taken)
    return taken
  }

  private leaveIdle(process: QueryProcess): void {
    clearInterval(process.idleTimer)
    const index = this.idle.indexOf(process)
    if (index >= 0) this.idle.splice(index, 1)
  }

  private keep(process: QueryProcess): void {
    this.idle.push(process)
    const { slow } = process
    if (slow) {
      process.idleTimer = setInterval(() => this.end(process), slow.untilMs - performance.now())
      const slowOnes = this.idle.filter((one) => one.slow)
      if (slowOnes.length > maxLong(this.maxRunning)) this.end(slowOnes[0] as QueryProcess)
    } else {
      process.idleTimer = setInterval(() => {
        if (this.inUse === 0 || this.usableCount > this.minUsable) this.end(process)
      }, idleMs)
    }
    process.idleTimer.unref()
  }

  /** Ends an idle process. */
  private end(process: QueryProcess): void {
    this.leaveIdle(process)
    process.child.disconnect()
  }

  private start(): QueryProcess {
    // The environment of this server is not passed on, because it may contain passwords.
    const child = fork(processFile, [this.spillDirectory], {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc', 'pipe'],
      env: { PATH: process.env.PATH, TZ: 'UTC', ...keptVariables() },
      serialization: 'advanced',
      execArgv: [],
    })
    lowerPriority(child.pid, niceness)
    const answers = child.stdio[answerDescriptor] as unknown as Readable
    const { promise: ready, resolve: onReady } = Promise.withResolvers<void>()
    const started: QueryProcess = {
      child,
      answers,
      ready,
      isReady: false,
      isUsable: true,
      slow: undefined,
      ending: undefined,
      idleTimer: undefined,
    }
    child.once('message', () => {
      started.isReady = true
      onReady()
    })
    child.once('exit', () => onReady())
    answers.pause()
    answers.on('error', () => child.kill('SIGKILL'))
    child.on('error', () => undefined)
    child.once('exit', () => this.forget(started))
    this.all.add(started)
    return started
  }

  private forget(ended: QueryProcess): void {
    ended.isUsable = false
    this.leaveIdle(ended)
    this.all.delete(ended)
  }
}

function keptVariables(): NodeJS.ProcessEnv {
  const { NODE_COMPILE_CACHE, LD_LIBRARY_PATH } = process.env
  return {
    ...(NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE }),
    ...(LD_LIBRARY_PATH === undefined ? {} : { LD_LIBRARY_PATH }),
  }
}
