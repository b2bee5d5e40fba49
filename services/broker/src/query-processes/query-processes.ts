import { type ChildProcess, fork } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { Failure, tooLarge, unavailable } from '@svc/domain/failure'
import type { Statement } from '../sql/index.ts'
import { createPause } from './pause.ts'
import {
  answerDescriptor,
  type QueryCommand,
  type QueryMessage,
  type QueryOrder,
  type QueryText,
} from './query-protocol.ts'
import {
  createQueryScheduler,
  type QueryLane,
  type QueryOwner,
  type QueryState,
  type RejectionReason,
} from './query-scheduler.ts'

const processFile = fileURLToPath(new URL('./query-process.ts', import.meta.url))

/** Limits of the query processes. */
export interface QueryProcessesOptions {
  /** Max number of queries that run at a time; for one caller, one less (but at least one). */
  readonly maxRunning: number
  /** Max number of waiting queries. */
  readonly maxQueued: number
  readonly maxQueuedPerCaller: number
  /** Max memory of one query. */
  readonly memoryLimitBytes: number
  /** Max memory of all running and suspended queries of one caller; undefined for no additional limit. */
  readonly memoryLimitPerCallerBytes?: number | undefined
  /** Max total run time of all running and suspended queries of one caller, in milliseconds. */
  readonly maxRunMsPerCaller: number
  readonly spillDirectory: string
  onReject?(reason: RejectionReason): void
}

/** A process that is reserved for one query. */
export interface QuerySession {
  /** Aborted if the query must end: by the given signal or by a limit. */
  readonly signal: AbortSignal
  /** Parses and validates a query with its parameters. Rejects with an invalidInput Failure if it is invalid. */
  read(text: QueryText): Promise<Statement>
  /**
   * Runs a query and resolves with the number of rows. `onBegin` is called before the first byte of the result and
   * returns the stream to write to, which is not closed. If the query fails before that, nothing is written. If
   * `onBegin` throws, only this query ends.
   */
  run(order: QueryOrder, onBegin: () => Writable): Promise<number>
  /** Releases the process, or kills it if its query did not end cleanly. */
  release(): void
}

/** Processes that run queries: started on demand, stopped when idle. */
export interface QueryProcesses {
  /** Resolves with a process when the query may run. Rejects with the signal's reason or a busy Failure. */
  acquire(owner: QueryOwner, signal: AbortSignal): Promise<QuerySession>
  /** Returns the number of queries in a state and lane. Queries whose processes are ending count as running. */
  count(state: QueryState, lane?: QueryLane): number
  /** Resolves when no query runs, or after `maxMs`. */
  untilIdle(maxMs: number): Promise<void>
  stop(): Promise<void>
}

// Time after which an idle process is stopped to free its memory.
const idleMs = 30_000
// Time that a canceled query has to end by itself before its process is killed.
const cancelMs = 500
const guardMs = 100
// Queries that take longer than this are long.
const shortMs = 250
// Time that a long query runs before a query of another caller can get its process.
const turnMs = 2000
// Memory of Node.js and of DuckDB's code, in addition to the memory that DuckDB counts.
const baseMemoryBytes = 512 * 2 ** 20

interface QueryProcess {
  readonly child: ChildProcess
  readonly answers: Readable
  /** Resolves when the process reads commands or has ended. */
  readonly ready: Promise<void>
  isUsable: boolean
  idleTimer: NodeJS.Timeout | undefined
}

/** Returns the max number of running and suspended queries of one caller, which leaves a process to the others. */
function maxActivePerCaller({
  maxRunning,
  memoryLimitBytes,
  memoryLimitPerCallerBytes = Number.POSITIVE_INFINITY,
}: QueryProcessesOptions): number {
  return Math.max(1, Math.min(maxRunning - 1, Math.floor(memoryLimitPerCallerBytes / memoryLimitBytes)))
}

/** Creates the query processes. None is started yet. */
export function createQueryProcesses(options: QueryProcessesOptions): QueryProcesses {
  const { spillDirectory } = options
  const maxBytes = options.memoryLimitBytes + baseMemoryBytes
  const scheduler = createQueryScheduler({
    ...options,
    maxActivePerCaller: maxActivePerCaller(options),
    maxSuspended: options.maxRunning,
    shortMs,
    turnMs,
  })
  const idle: QueryProcess[] = []
  const all = new Set<QueryProcess>()
  const onIdle = new Set<() => void>()
  let inUse = 0
  let stopped = false

  function start(): QueryProcess {
    // The environment of this server is not passed on, because it may contain passwords.
    const child = fork(processFile, [spillDirectory], {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc', 'pipe'],
      env: { PATH: process.env.PATH, TZ: 'UTC', ...keptVariables() },
      serialization: 'advanced',
      execArgv: [],
    })
    const answers = child.stdio[answerDescriptor] as unknown as Readable
    const { promise: ready, resolve: onReady } = Promise.withResolvers<void>()
    child.once('message', () => onReady())
    child.once('exit', () => onReady())
    const started: QueryProcess = { child, answers, ready, isUsable: true, idleTimer: undefined }
    answers.pause()
    answers.on('error', () => child.kill('SIGKILL'))
    child.on('error', () => undefined)
    child.once('exit', () => {
      started.isUsable = false
      all.delete(started)
      const index = idle.indexOf(started)
      if (index >= 0) idle.splice(index, 1)
    })
    all.add(started)
    return started
  }

  function takeProcess(): QueryProcess {
    const taken = idle.pop() ?? start()
    clearTimeout(taken.idleTimer)
    return taken
  }

  function keep(process: QueryProcess): void {
    idle.push(process)
    process.idleTimer = setTimeout(() => process.child.disconnect(), idleMs)
    process.idleTimer.unref()
  }

  /**
   * Starts a replacement for a process that serves no other query, so that a short query does not wait for its start.
   */
  function prepareSuccessor(): void {
    if (idle.length < options.maxRunning && !stopped) keep(start())
  }

  function release(used: QueryProcess): void {
    inUse -= 1
    if (used.isUsable && !stopped) keep(used)
    else used.child.kill('SIGKILL')
    if (inUse === 0) for (const notify of onIdle) notify()
  }

  return {
    acquire: async (owner, signal) => {
      if (stopped) throw unavailable('This server is stopping')
      const turn = await scheduler.enter(owner, signal)
      const used = takeProcess()
      inUse += 1
      const pause = createPause(used)
      const limits = { signal: AbortSignal.any([signal, turn.signal]), maxBytes }
      let released = false
      // The start time of the process does not count as run time of the query.
      void used.ready.then(() => {
        if (released) return
        turn.begin({
          ...pause,
          yieldToOthers: () => {
            pause.yieldToOthers()
            prepareSuccessor()
          },
        })
      })
      return {
        signal: limits.signal,
        read: async (text) => {
          const message = await converse(used, { kind: 'read', ...text }, limits)
          if (message.kind === 'read') return message.statement
          throw unexpected(message)
        },
        run: async (order, onBegin) => {
          const message = await converse(used, { kind: 'run', order }, { ...limits, onBegin })
          if (message.kind === 'done') return message.rows
          throw unexpected(message)
        },
        release: () => {
          if (released) return
          released = true
          pause.resume()
          release(used)
          turn.end()
        },
      }
    },
    count: scheduler.count,
    untilIdle: async (maxMs) => {
      if (inUse === 0) return
      const { promise, resolve } = Promise.withResolvers<void>()
      const timer = setTimeout(resolve, maxMs)
      onIdle.add(resolve)
      await promise
      onIdle.delete(resolve)
      clearTimeout(timer)
    },
    stop: async () => {
      stopped = true
      scheduler.stop()
      for (const { child } of all) child.kill('SIGKILL')
    },
  }
}

const unexpected = (message: QueryMessage): Error =>
  new Error(`Unexpected message [${message.kind}] from a query process`)

interface Conversation {
  readonly signal: AbortSignal
  readonly maxBytes: number
  readonly onBegin?: () => Writable
}

/** Sends a command and forwards the bytes of the result until the process reports how it ended. */
async function converse(
  used: QueryProcess,
  command: QueryCommand,
  { signal, maxBytes, onBegin }: Conversation,
): Promise<QueryMessage> {
  signal.throwIfAborted()
  const { child, answers } = used
  return await new Promise<QueryMessage>((resolve, reject) => {
    let sink: Writable | undefined
    let bytes = 0
    let end: (QueryMessage & { kind: 'done' }) | undefined
    const resume = (): void => void answers.resume()
    const finish = (settle: () => void): void => {
      clearInterval(guard)
      child.off('message', onMessage)
      child.off('exit', onExit)
      answers.off('data', onData)
      answers.pause()
      sink?.off('drain', resume)
      signal.removeEventListener('abort', onAbort)
      settle()
    }
    const onData = (data: Buffer): void => {
      bytes += data.length
      try {
        if (sink === undefined) {
          sink = onBegin?.()
          sink?.on('drain', resume)
        }
        if (sink?.write(data) === false) answers.pause()
      } catch (error) {
        // The rest of the result must not reach another query.
        used.isUsable = false
        finish(() => reject(error))
        return
      }
      finishWhenComplete()
    }
    // The message and the bytes use different channels and arrive in any order.
    const finishWhenComplete = (): void => {
      const resolveComplete = end
      if (resolveComplete && bytes === resolveComplete.bytes) finish(() => resolve(resolveComplete))
    }
    const onMessage = (message: QueryMessage): void => {
      if (message.kind === 'ready') return
      if (message.kind === 'done') {
        end = message
        finishWhenComplete()
      } else if (message.kind === 'failed') {
        // Bytes written before the failure may still arrive; another query must not get them.
        if (bytes > 0 || message.code === 'internalServerError') used.isUsable = false
        finish(() => reject(new Failure(message.code, message.message, message.context)))
      } else finish(() => resolve(message))
    }
    const onExit = (): void => {
      finish(() =>
        reject(new Failure('internalServerError', 'The query process ended before the result was complete')),
      )
    }
    // DuckDB enforces its own limit. This guard catches memory that DuckDB does not count, such as one huge string.
    const guard = setInterval(() => {
      if (residentBytes(child.pid) <= maxBytes) return
      used.isUsable = false
      child.kill('SIGKILL')
      finish(() => reject(tooLarge('The query needs more memory than [svc.query.memoryLimit] allows')))
    }, guardMs)
    const onAbort = (): void => {
      used.isUsable = false
      child.send({ kind: 'cancel' } satisfies QueryCommand, () => undefined)
      const timer = setTimeout(() => child.kill('SIGKILL'), cancelMs)
      child.once('exit', () => clearTimeout(timer))
      finish(() => reject(signal.reason))
    }
    child.on('message', onMessage)
    child.once('exit', onExit)
    answers.on('data', onData)
    answers.resume()
    signal.addEventListener('abort', onAbort, { once: true })
    child.send(command, (error) => {
      if (error) onExit()
    })
  })
}

const pageBytes = 4096

/** Returns the resident memory of a process in bytes; 0 if it has ended or the system has no /proc. */
function residentBytes(pid: number | undefined): number {
  try {
    return Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]) * pageBytes
  } catch {
    return 0
  }
}

function keptVariables(): NodeJS.ProcessEnv {
  const { NODE_COMPILE_CACHE, LD_LIBRARY_PATH } = process.env
  return {
    ...(NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE }),
    ...(LD_LIBRARY_PATH === undefined ? {} : { LD_LIBRARY_PATH }),
  }
}
