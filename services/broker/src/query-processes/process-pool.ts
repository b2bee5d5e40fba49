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
  /** Resolves when its canceled query has ended, and all bytes of the result have been read. */
  ending: Promise<void> | undefined
  idleTimer: NodeJS.Timeout | undefined
}

// Time after which an idle process is stopped to free its memory.
const idleMs = 30_000
// Queries have a lower priority than servers: a server that does not get its turn cannot accept connections in time.
const niceness = 5

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

  /** Returns an idle process, or starts one. */
  take(): QueryProcess {
    this.inUse += 1
    return this.takeIdle() ?? this.start()
  }

  /** Keeps a process for another query, or kills it if it cannot run one. */
  giveBack(used: QueryProcess): void {
    this.inUse -= 1
    if (used.isUsable && !this.stopped) this.keep(used)
    else used.child.kill('SIGKILL')
    if (this.inUse === 0) for (const notify of this.onUnused) notify()
  }

  /**
   * Starts processes, one after the other, until there are enough for the short queries that may run next to an expensive query, so
   * that they do not wait for one to start.
   */
  startSpares(): void {
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

  /** Number of processes that can run another query: not those of expensive queries. */
  private get usableCount(): number {
    return [...this.all].filter(({ isUsable }) => isUsable).length
  }

  /** Number of processes that are reserved for short queries. */
  private get minUsable(): number {
    return Math.max(1, this.maxRunning - maxLong(this.maxRunning))
  }

  private takeIdle(): QueryProcess | undefined {
    const index = this.idle.findLastIndex(({ isReady }) => isReady)
    // If none is ready (-1), the last one.
    const [taken] = this.idle.splice(index, 1)
    clearInterval(taken?.idleTimer)
    return taken
  }

  private keep(process: QueryProcess): void {
    this.idle.push(process)
    process.idleTimer = setInterval(() => {
      if (this.inUse > 0 && this.usableCount <= this.minUsable) return
      clearInterval(process.idleTimer)
      process.child.disconnect()
    }, idleMs)
    process.idleTimer.unref()
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
    clearInterval(ended.idleTimer)
    this.all.delete(ended)
    const index = this.idle.indexOf(ended)
    if (index >= 0) this.idle.splice(index, 1)
  }
}

function keptVariables(): NodeJS.ProcessEnv {
  const { NODE_COMPILE_CACHE, LD_LIBRARY_PATH } = process.env
  return {
    ...(NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE }),
    ...(LD_LIBRARY_PATH === undefined ? {} : { LD_LIBRARY_PATH }),
  }
}
