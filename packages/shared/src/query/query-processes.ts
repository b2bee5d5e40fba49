import { type ChildProcess, fork } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { Failure, tooLarge, unavailable } from '@svc/domain/failure'
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
import type { Statement } from './read-statement.ts'

const processFile = fileURLToPath(new URL('./query-process.ts', import.meta.url))

/** What the processes of queries may use. */
export interface QueryProcessesOptions {
  /** Maximum number of queries that run at a time; those of one caller are fewer by one, unless there is only one. */
  readonly maxRunning: number
  /** Maximum numbers of queries that wait. */
  readonly maxQueued: number
  readonly maxQueuedPerCaller: number
  /** Maximum memory of one query. */
  readonly memoryLimitBytes: number
  /** Maximum memory of all running and suspended queries of one caller; undefined for no further limit. */
  readonly memoryLimitPerCallerBytes?: number | undefined
  /** Maximum time for which all running and suspended queries of one caller may have run together, in milliseconds. */
  readonly maxRunMsPerCaller: number
  readonly spillDirectory: string
  onReject?(reason: RejectionReason): void
}

/** One query's hold on a process. */
export interface QuerySession {
  /** Aborted if the query has to end: by the signal that it was given, or by a limit. */
  readonly signal: AbortSignal
  /** What a query with its values is about. What is wrong with it is an invalidInput failure. */
  read(text: QueryText): Promise<Statement>
  /**
   * Runs a query. `onBegin` is called before the first byte of the answer and tells where it goes; that end is not
   * closed. A failure before it left no trace; what it throws ends this query alone. Answers with the number of rows.
   */
  run(order: QueryOrder, onBegin: () => Writable): Promise<number>
  /** Gives the process back, or ends it where its query did not end well. */
  release(): void
}

/** Processes in which queries run: started when needed, ended when idle. */
export interface QueryProcesses {
  /** Resolves with a process when the query may run. Rejects with the signal's reason, or a busy failure. */
  acquire(owner: QueryOwner, signal: AbortSignal): Promise<QuerySession>
  /** The number of queries in a state, of those in a lane; running ones include those whose processes are ending. */
  count(state: QueryState, lane?: QueryLane): number
  /** Resolves when no query runs, or when the time is over. */
  untilIdle(mostMs: number): Promise<void>
  stop(): Promise<void>
}

// A process of this age without work ends, and its memory is free again.
const idleMs = 30_000
// How long a query that was given up may take to end by itself.
const cancelMs = 500
const guardMs = 100
// What ends within this time is a short query.
const shortMs = 250
// For how long a long query runs before one of another caller may have its process.
const turnMs = 2000
// Node.js and DuckDB's code, beside the data that DuckDB counts.
const baseMemoryBytes = 512 * 2 ** 20

interface QueryProcess {
  readonly child: ChildProcess
  readonly answers: Readable
  /** Resolves when it reads commands, or has ended. */
  readonly ready: Promise<void>
  isSound: boolean
  idleTimer: NodeJS.Timeout | undefined
}

/** The maximum number of queries of one caller that run or are suspended, so that the others can have a process. */
function maxActivePerCaller({
  maxRunning,
  memoryLimitBytes,
  memoryLimitPerCallerBytes = Number.POSITIVE_INFINITY,
}: QueryProcessesOptions): number {
  return Math.max(1, Math.min(maxRunning - 1, Math.floor(memoryLimitPerCallerBytes / memoryLimitBytes)))
}

/** Makes the processes; none is started yet. */
export function createQueryProcesses(options: QueryProcessesOptions): QueryProcesses {
  const { spillDirectory } = options
  const mostBytes = options.memoryLimitBytes + baseMemoryBytes
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
    // Nothing of this server's environment is passed on: it may hold passwords.
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
    const started: QueryProcess = { child, answers, ready, isSound: true, idleTimer: undefined }
    answers.pause()
    answers.on('error', () => child.kill('SIGKILL'))
    child.on('error', () => undefined)
    child.once('exit', () => {
      started.isSound = false
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

  /** Starts the successor of a process that serves no other query, so that a short query need not wait for its start. */
  function prepareSuccessor(): void {
    if (idle.length < options.maxRunning && !stopped) keep(start())
  }

  function giveBack(used: QueryProcess): void {
    inUse -= 1
    if (used.isSound && !stopped) keep(used)
    else used.child.kill('SIGKILL')
    if (inUse === 0) for (const tell of onIdle) tell()
  }

  return {
    acquire: async (owner, signal) => {
      if (stopped) throw unavailable('This server is stopping')
      const turn = await scheduler.enter(owner, signal)
      const used = takeProcess()
      inUse += 1
      const pause = createPause(used)
      const limits = { signal: AbortSignal.any([signal, turn.signal]), mostBytes }
      let released = false
      // The start of a process does not make a query long.
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
          giveBack(used)
          turn.end()
        },
      }
    },
    count: scheduler.count,
    untilIdle: async (mostMs) => {
      if (inUse === 0) return
      const { promise, resolve } = Promise.withResolvers<void>()
      const timer = setTimeout(resolve, mostMs)
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

const unexpected = (message: QueryMessage): Error => new Error(`A query process said [${message.kind}]`)

interface Conversation {
  readonly signal: AbortSignal
  readonly mostBytes: number
  readonly onBegin?: () => Writable
}

/** Sends a command and hands on the bytes of the answer until the process says how it ended. */
async function converse(
  used: QueryProcess,
  command: QueryCommand,
  { signal, mostBytes, onBegin }: Conversation,
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
        // What is left of the answer must not reach another query.
        used.isSound = false
        finish(() => reject(error))
        return
      }
      finishWhenWhole()
    }
    // The message and the bytes come by different ways, in any order.
    const finishWhenWhole = (): void => {
      const whole = end
      if (whole && bytes === whole.bytes) finish(() => resolve(whole))
    }
    const onMessage = (message: QueryMessage): void => {
      if (message.kind === 'ready') return
      if (message.kind === 'done') {
        end = message
        finishWhenWhole()
      } else if (message.kind === 'failed') {
        // What it wrote before it failed may still be on its way: another query must not get it.
        if (bytes > 0 || message.code === 'internalServerError') used.isSound = false
        finish(() => reject(new Failure(message.code, message.message, message.context)))
      } else finish(() => resolve(message))
    }
    const onExit = (): void => {
      finish(() =>
        reject(
          new Failure('internalServerError', 'The process of the query ended before its answer was whole'),
        ),
      )
    }
    // DuckDB keeps its own limit; what it does not count, such as one huge text, is stopped here.
    const guard = setInterval(() => {
      if (residentBytes(child.pid) <= mostBytes) return
      used.isSound = false
      child.kill('SIGKILL')
      finish(() => reject(tooLarge('The query needs more memory than [svc.query.memoryLimit] allows')))
    }, guardMs)
    const onAbort = (): void => {
      used.isSound = false
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

/** The memory that a process holds, where the system tells that by /proc; 0 elsewhere, and for one that has ended. */
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
