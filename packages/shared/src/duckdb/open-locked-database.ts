import type { DuckDBConnection, DuckDBInstance } from '@duckdb/node-api'
import { literal, literalList } from './sql.ts'

/** What a database may reach and use. */
export interface LockedDatabaseOptions {
  /** Folders whose files may be read and written. */
  readonly directories: readonly string[]
  /** Further files that may be read. */
  readonly files: readonly string[]
  readonly spillDirectory: string
  /** What may lie in the spill directory at the most; what DuckDB thinks fit without it. */
  readonly spillLimitBytes?: number
  readonly memoryLimitBytes: number
  readonly threads: number
  /** Further settings of the session as SQL, fixed like the others. */
  readonly settings?: readonly string[]
}

/** An open database with its one connection. */
export interface LockedDatabase {
  readonly instance: DuckDBInstance
  readonly connection: DuckDBConnection
  close(): void
}

/**
 * Opens a DuckDB in memory that installs and loads no extension, reads and writes only the given files, spills to its
 * own folder and cannot be told otherwise by a later statement. Times are UTC. Rejects with DuckDB's error.
 */
export async function openLockedDatabase(options: LockedDatabaseOptions): Promise<LockedDatabase> {
  const { directories, files, spillDirectory, spillLimitBytes, settings = [] } = options
  // Loading the library takes a while and much memory: only a process that needs it does.
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
