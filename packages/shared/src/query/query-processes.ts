import { type ChildProcess, fork } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { busy, Failure, tooLarge, unavailable } from '@svc/domain/failure'
import {
  answerDescriptor,
  type QueryCommand,
  type QueryMessage,
  type QueryOrder,
  type QueryText,
} from './query-protocol.ts'
import type { Statement } from './read-statement.ts'

const processFile = fileURLToPath(new URL('./query-process.ts', import.meta.url))

/** What the processes of queries may use. */
export interface QueryProcessesOptions {
  /** Queries at a time; those of one user are fewer by one, unless there is only one. */
  readonly mostRunning: number
  /** Queries that wait for their turn; those of one user are fewer by one, unless there is only one. */
  readonly mostWaiting: number
  readonly memoryLimitBytes: number
  readonly spillDirectory: string
}

/** One query's hold on a process. */
export interface QuerySession {
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
  /**
   * A process for one query of a user, in the order of asking among those whose user may have one more. Rejects with the
   * signal's reason, or a busy failure.
   */
  acquire(user: string, signal: AbortSignal): Promise<QuerySession>
  running(): number
  waiting(): number
  /** Resolves when no query runs, or when the time is over. */
  untilIdle(mostMs: number): Promise<void>
  stop(): Promise<void>
}

// A process of this age without work ends, and its memory is free again.
const idleMs = 30_000
// How long a query that was given up may take to end by itself.
const cancelMs = 500
const guardMs = 100
// Node.js and DuckDB's code, beside the data that DuckDB counts.
const baseMemoryBytes = 512 * 2 ** 20

interface QueryProcess {
  readonly child: ChildProcess
  readonly answers: Readable
  isSound: boolean
  idleTimer: NodeJS.Timeout | undefined
}

/** A query that waits. */
interface Waiting {
  readonly user: string
  start(): void
}

/** How many of all turns or places one user may have, so that the others can have one. */
const shareOf = (all: number): number => Math.max(1, all - 1)

/** Makes the processes; none is started yet. */
export function createQueryProcesses(options: QueryProcessesOptions): QueryProcesses {
  const { mostRunning, mostWaiting, spillDirectory } = options
  const mostBytes = options.memoryLimitBytes + baseMemoryBytes
  const idle: QueryProcess[] = []
  const all = new Set<QueryProcess>()
  const waiting: Waiting[] = []
  const runningOf = new Map<string, number>()
  const onIdle = new Set<() => void>()
  let running = 0
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
    const started: QueryProcess = { child, answers, isSound: true, idleTimer: undefined }
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

  const mayRun = ({ user }: { readonly user: string }): boolean =>
    (runningOf.get(user) ?? 0) < shareOf(mostRunning)

  function countRunning(user: string, change: 1 | -1): void {
    running += change
    const own = (runningOf.get(user) ?? 0) + change
    if (own > 0) runningOf.set(user, own)
    else runningOf.delete(user)
  }

  function giveBack(used: QueryProcess, user: string): void {
    countRunning(user, -1)
    if (used.isSound && !stopped) {
      idle.push(used)
      used.idleTimer = setTimeout(() => used.child.disconnect(), idleMs)
      used.idleTimer.unref()
    } else used.child.kill('SIGKILL')
    const next = waiting.findIndex(mayRun)
    if (next >= 0) waiting.splice(next, 1)[0]?.start()
    if (running === 0) for (const tell of onIdle) tell()
  }

  async function turn(user: string, signal: AbortSignal): Promise<void> {
    // Whoever waits while there is a turn has as many as one user may have.
    if (running < mostRunning && mayRun({ user })) {
      countRunning(user, 1)
      return
    }
    if (waiting.length >= mostWaiting) {
      throw busy(
        `[${running}] queries run and [${waiting.length}] wait, as many as [svc.query.maxConcurrent] and [svc.query.maxQueued] allow`,
      )
    }
    const own = waiting.filter((one) => one.user === user).length
    if (own >= shareOf(mostWaiting)) {
      throw busy(
        `[${runningOf.get(user) ?? 0}] queries of this user run and [${own}] wait, as many as one user may have by [svc.query.maxConcurrent] and [svc.query.maxQueued]`,
      )
    }
    await new Promise<void>((resolve, reject) => {
      const start = (): void => {
        signal.removeEventListener('abort', giveUp)
        countRunning(user, 1)
        resolve()
      }
      const giveUp = (): void => {
        waiting.splice(waiting.indexOf(entry), 1)
        reject(signal.reason)
      }
      const entry = { user, start }
      waiting.push(entry)
      signal.addEventListener('abort', giveUp, { once: true })
    })
  }

  return {
    acquire: async (user, signal) => {
      signal.throwIfAborted()
      if (stopped) throw unavailable('This server is stopping')
      await turn(user, signal)
      const used = takeProcess()
      let released = false
      return {
        read: async (text) => {
          const message = await converse(used, { kind: 'read', ...text }, { signal, mostBytes })
          if (message.kind === 'read') return message.statement
          throw unexpected(message)
        },
        run: async (order, onBegin) => {
          const message = await converse(used, { kind: 'run', order }, { signal, mostBytes, onBegin })
          if (message.kind === 'done') return message.rows
          throw unexpected(message)
        },
        release: () => {
          if (released) return
          released = true
          giveBack(used, user)
        },
      }
    },
    running: () => running,
    waiting: () => waiting.length,
    untilIdle: async (mostMs) => {
      if (running === 0) return
      const { promise, resolve } = Promise.withResolvers<void>()
      const timer = setTimeout(resolve, mostMs)
      onIdle.add(resolve)
      await promise
      onIdle.delete(resolve)
      clearTimeout(timer)
    },
    stop: async () => {
      stopped = true
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
