import { dirname } from 'node:path'
import type { Json } from '@duckdb/node-api'
import { Failure, invalidInput, tooLarge, unavailable } from '@svc/domain/failure'
import { errorCode } from '../deep-storage/index.ts'
import { openLockedDatabase } from '../duckdb/index.ts'

/** A database process of its own that can reach nothing but the files it is given. */
export interface Engine {
  /** Runs one statement. Rejects with a Failure, or with the signal's reason. */
  run(sql: string): Promise<void>
  /** Runs one query; whole numbers of 64 bits come as texts. */
  rows(sql: string): Promise<Record<string, Json>[]>
  /** How far the statement under way is, from 0 to 1, as far as that can be told. */
  progress(): number | undefined
  close(): void
}

export interface EngineOptions {
  /** Folders whose files may be read and written. */
  readonly directories: readonly string[]
  /** Further files that may be read. */
  readonly files: readonly string[]
  readonly spillDirectory: string
  readonly memoryLimitBytes: number
  readonly threads: number
  readonly signal?: AbortSignal | undefined
}

const longestTold = 200

/** What DuckDB refused, as a failure that does not repeat rows of data. */
function engineFailure(
  error: unknown,
  { memoryLimitBytes, spillDirectory }: Pick<EngineOptions, 'memoryLimitBytes' | 'spillDirectory'>,
): Failure {
  const [line = ''] = errorCode(error).split('\n')
  // Whoever may read the datasource is told, and has no use for where a server has its folders.
  const text = line.replaceAll(`${dirname(spillDirectory)}/`, '')
  const told = text.length > longestTold ? `${text.slice(0, longestTold)}…` : text
  if (/no space left/i.test(text)) {
    return unavailable(
      `Task directory[${dirname(spillDirectory)}] cannot be written: no space left on the disk`,
      { reason: 'diskFull' },
      error,
    )
  }
  if (text.startsWith('Out of Memory Error')) {
    return tooLarge(
      `The task needs more memory than its limit of [${memoryLimitBytes}] bytes: ${told}`,
      {},
      error,
    )
  }
  const isAboutData = /^(Invalid Input|Conversion|Out of Range|Serialization) Error/.test(text)
  if (isAboutData) return invalidInput(`The input cannot be read: ${told}`, {}, error)
  if (text.startsWith('IO Error')) return unavailable(`The input cannot be read: ${told}`, {}, error)
  return new Failure('internalServerError', `The task's statement failed: ${told}`, {}, error)
}

/**
 * Starts a DuckDB in memory that installs and loads no extension, reads and writes only the given files, spills to its
 * own folder and cannot be told otherwise by a later statement. Times are UTC.
 */
export async function openEngine(options: EngineOptions): Promise<Engine> {
  const { signal } = options
  const database = await openLockedDatabase({
    ...options,
    // Progress is counted only for a progress bar; this one is never printed.
    settings: ['enable_progress_bar = true', 'enable_progress_bar_print = false'],
  }).catch((error: unknown) => {
    throw engineFailure(error, options)
  })
  const { connection } = database

  async function guarded<T>(work: () => Promise<T>): Promise<T> {
    signal?.throwIfAborted()
    const interrupt = () => connection.interrupt()
    signal?.addEventListener('abort', interrupt, { once: true })
    try {
      return await work()
    } catch (error) {
      signal?.throwIfAborted()
      throw engineFailure(error, options)
    } finally {
      signal?.removeEventListener('abort', interrupt)
    }
  }

  return {
    run: (sql) =>
      guarded(async () => {
        await connection.run(sql)
      }),
    rows: (sql) =>
      guarded(async () => {
        const reader = await connection.runAndReadAll(sql)
        return reader.getRowObjectsJson()
      }),
    progress: () => {
      const { percentage } = connection.progress
      return percentage >= 0 ? percentage / 100 : undefined
    },
    close: database.close,
  }
}
