import type { Writable } from 'node:stream'
import { unavailable } from '@svc/domain/failure'
import type { Statement } from '../sql/index.ts'
import type { QueryOwner, QueryState } from './active-queries.ts'
import { type ConversationOptions, converse } from './converse.ts'
import { startCpuMeter } from './cpu-meter.ts'
import { createPause } from './pause.ts'
import { ProcessPool } from './process-pool.ts'
import type { QueryMessage, QueryOrder, QueryText } from './query-protocol.ts'
import {
  createQueryScheduler,
  type QueryLane,
  type QueryTurn,
  type RejectionReason,
} from './query-scheduler.ts'

/** Limits of the query processes. */
export interface QueryProcessesOptions {
  /** Maximum number of queries that run at a time; for one caller, one less (but at least one). */
  readonly maxRunning: number
  /** Maximum number of waiting queries. */
  readonly maxQueued: number
  readonly maxQueuedPerCaller: number
  /** Max memory of one query. */
  readonly memoryLimitBytes: number
  /** Max memory of all running and suspended queries of one caller; undefined for no additional limit. */
  readonly memoryLimitPerCallerBytes?: number | undefined
  /** Max total run time of all running and suspended queries of one caller, in milliseconds. */
  readonly maxRunMsPerCaller: number
  /** Max CPU time for parsing one query, in milliseconds (default: 5000). */
  readonly maxParseCpuMs?: number
  /** Max time that a canceled query has to end by itself, in milliseconds (default: 500). Then its process is killed. */
  readonly maxCancelMs?: number
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
  /** Releases the process when its query has ended, or kills it if the query did not end cleanly. */
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

// Queries that take longer than this are long.
const shortMs = 250
// Time that a long query runs before a query of another caller can get its process.
const turnMs = 2000
// More than any useful query takes. Without this limit, a text of a few kilobytes could use a process for minutes.
const maxParseCpuMsByDefault = 5000
// Other queries wait meanwhile.
const maxCancelMsByDefault = 500
// Memory of Node.js and of DuckDB's code, in addition to the memory that DuckDB counts.
const baseMemoryBytes = 512 * 2 ** 20

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
  const limits = {
    maxBytes: options.memoryLimitBytes + baseMemoryBytes,
    maxParseCpuMs: options.maxParseCpuMs ?? maxParseCpuMsByDefault,
    maxCancelMs: options.maxCancelMs ?? maxCancelMsByDefault,
  }
  const scheduler = createQueryScheduler({
    ...options,
    maxActivePerCaller: maxActivePerCaller(options),
    maxSuspended: options.maxRunning,
    shortMs,
    turnMs,
  })
  const pool = new ProcessPool(options.spillDirectory, options.maxRunning)
  return {
    acquire: async (owner, signal) => {
      if (pool.isStopped) throw unavailable('This server is stopping')
      const turn = await scheduler.enter(owner, signal)
      return openSession(pool, turn, AbortSignal.any([signal, turn.signal]), limits)
    },
    count: (state, lane) => scheduler.count(state, lane),
    untilIdle: (maxMs) => pool.untilUnused(maxMs),
    stop: async () => {
      scheduler.stop()
      pool.stop()
    },
  }
}

type SessionLimits = Required<Pick<ConversationOptions, 'maxBytes' | 'maxParseCpuMs' | 'maxCancelMs'>>

/** Reserves a process for a query whose turn it is. */
function openSession(
  pool: ProcessPool,
  turn: QueryTurn,
  signal: AbortSignal,
  { maxParseCpuMs, ...limits }: SessionLimits,
): QuerySession {
  const used = pool.take()
  const pause = createPause(used)
  let released = false
  // The start time of the process does not count as run time of the query.
  void used.ready.then(() => {
    if (released) return
    turn.begin({
      ...pause,
      cpuMs: startCpuMeter(used.child.pid),
      yieldToOthers: () => {
        pause.yieldToOthers()
        pool.startSpares()
      },
    })
  })
  return {
    signal,
    read: async (text) => {
      const message = await converse(used, { kind: 'read', ...text }, { signal, ...limits, maxParseCpuMs })
      if (message.kind === 'read') return message.statement
      throw unexpected(message)
    },
    run: async (order, onBegin) => {
      const message = await converse(used, { kind: 'run', order }, { signal, ...limits, onBegin })
      if (message.kind === 'done') return message.rows
      throw unexpected(message)
    },
    release: () => {
      if (released) return
      released = true
      pause.resume()
      const end = (): void => {
        used.ending = undefined
        pool.giveBack(used)
        turn.end()
      }
      // Starting a process takes longer than waiting for the end of a canceled query.
      if (used.isUsable && used.ending) void used.ending.then(end)
      else end()
    },
  }
}

const unexpected = (message: QueryMessage): Error =>
  new Error(`Unexpected message [${message.kind}] from a query process`)
