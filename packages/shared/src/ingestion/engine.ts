import { dirname } from 'node:path'
import type { Json } from '@duckdb/node-api'
import { Failure, invalidInput, tooLarge, unavailable } from '@svc/domain/failure'
import { errorCode } from '../deep-storage/index.ts'
import { openLockedDatabase } from '../duckdb/index.ts'

/** An in-memory database that can access only the given files. */
export interface Engine {
  /** Runs one statement. Rejects with a Failure, or with the signal's reason. */
  run(sql: string): Promise<void>
  /** Runs one query. Returns 64-bit integers as strings. */
  rows(sql: string): Promise<Record<string, Json>[]>
  /** Returns the progress of the running statement, from 0 to 1; undefined if unknown. */
  progress(): number | undefined
  close(): void
}

export interface EngineOptions {
  /** Folders whose files may be read and written. */
  readonly directories: readonly string[]
  /** Additional files that may be read. */
  readonly files: readonly string[]
  readonly spillDirectory: string
  readonly memoryLimitBytes: number
  readonly threads: number
  readonly signal?: AbortSignal | undefined
}

const maxMessageLength = 200

/** Converts an error of DuckDB to a Failure whose message does not contain rows of data. */
function engineFailure(
  error: unknown,
  { memoryLimitBytes, spillDirectory }: Pick<EngineOptions, 'memoryLimitBytes' | 'spillDirectory'>,
): Failure {
  const [line = ''] = errorCode(error).split('\n')
  // Every user with read access to the datasource sees the message, so it must not reveal the server's folders.
  const text = line.replaceAll(`${dirname(spillDirectory)}/`, '')
  const message = text.length > maxMessageLength ? `${text.slice(0, maxMessageLength)}…` : text
  if (/no space left/i.test(text)) {
    return unavailable(
      `Failed to write to task directory [${dirname(spillDirectory)}]: no space left on the disk`,
      { reason: 'diskFull' },
      error,
    )
  }
  if (text.startsWith('Out of Memory Error')) {
    return tooLarge(
      `The task needs more memory than its limit of [${memoryLimitBytes}] bytes: ${message}`,
      {},
      error,
    )
  }
  const isAboutData = /^(Invalid Input|Conversion|Out of Range|Serialization) Error/.test(text)
  if (isAboutData) return invalidInput(`Failed to read the input: ${message}`, {}, error)
  if (text.startsWith('IO Error')) return unavailable(`Failed to read the input: ${message}`, {}, error)
  return new Failure('internalServerError', `A SQL statement in the task failed: ${message}`, {}, error)
}

/**
 * Opens an in-memory DuckDB that loads no extensions, accesses only the given files, and spills to its own folder.
 * Later statements cannot change these settings. The time zone is UTC. Rejects with a Failure.
 */
export async function openEngine(options: EngineOptions): Promise<Engine> {
  const { signal } = options
  const database = await openLockedDatabase({
    ...options,
    // DuckDB reports progress only with a progress bar, so enable one that is never printed.
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
