import type { DuckDBConnection, DuckDBInstance } from '@duckdb/node-api'
import { literal, literalList } from './sql.ts'

/** Access and resource limits of a database. */
export interface LockedDatabaseOptions {
  /** Folders whose files may be read and written. */
  readonly directories: readonly string[]
  /** Additional files that may be read. */
  readonly files: readonly string[]
  readonly spillDirectory: string
  /** Max size of the spill directory; DuckDB's own default if undefined. */
  readonly spillLimitBytes?: number
  readonly memoryLimitBytes: number
  readonly threads: number
  /** Additional session settings as SQL, locked like the others. */
  readonly settings?: readonly string[]
}

/** An open database and its only connection. */
export interface LockedDatabase {
  readonly instance: DuckDBInstance
  readonly connection: DuckDBConnection
  close(): void
}

/**
 * Opens an in-memory DuckDB that loads no extensions, accesses only the given files, and spills to its own directory.
 * Later statements cannot change these settings. The time zone is UTC. Rejects with DuckDB's error.
 */
export async function openLockedDatabase(options: LockedDatabaseOptions): Promise<LockedDatabase> {
  const { directories, files, spillDirectory, spillLimitBytes, settings = [] } = options
  // The library is slow to load and needs much memory, so only a process that uses it loads it.
  const { DuckDBInstance } = await import('@duckdb/node-api')
  const instance = await DuckDBInstance.create(':memory:', {
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
    allow_community_extensions: 'false',
    allow_persistent_secrets: 'false',
    memory_limit: `${options.memoryLimitBytes}B`,
    threads: String(options.threads),
    temp_directory: spillDirectory,
  })
  try {
    const connection = await instance.connect()
    for (const setting of [
      `TimeZone = 'UTC'`,
      ...(spillLimitBytes === undefined
        ? []
        : [`max_temp_directory_size = ${literal(`${spillLimitBytes}B`)}`]),
      ...settings,
      `allowed_directories = ${literalList([...directories, spillDirectory])}`,
      `allowed_paths = ${literalList(files)}`,
      'enable_external_access = false',
      'lock_configuration = true',
    ]) {
      await connection.run(`SET ${setting}`)
    }
    return {
      instance,
      connection,
      close: () => {
        connection.closeSync()
        instance.closeSync()
      },
    }
  } catch (error) {
    instance.closeSync()
    throw error
  }
}
