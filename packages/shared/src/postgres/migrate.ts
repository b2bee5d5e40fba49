import { readdirSync } from 'node:fs'
import { type Database, sql } from './database.ts'

const directory = new URL('./migrations/', import.meta.url)
// The lock that ensures that one server at a time migrates; the number is arbitrary.
const migrationLock = 7_368_435

/** Returns the names of this version's migrations, oldest first. */
export function knownMigrations(): string[] {
  return readdirSync(directory)
    .filter((file) => file.endsWith('.sql'))
    .map((file) => file.slice(0, -'.sql'.length))
    .sort()
}

async function appliedMigrations(database: Database): Promise<string[]> {
  const [table] = await database.query<{ found: string | null }>(
    sql`SELECT to_regclass('schema_migrations') AS found`,
  )
  if (!table?.found) return []
  const rows = await database.query<{ name: string }>(sql`SELECT name FROM schema_migrations ORDER BY name`)
  return rows.map(({ name }) => name)
}

/**
 * Whether the metadata store has the schema of this version. Throws a plain error if a newer version has migrated it,
 * because its data could be misread.
 */
export async function isSchemaCurrent(database: Database): Promise<boolean> {
  const known = knownMigrations()
  const applied = await appliedMigrations(database)
  const newer = applied.find((name) => !known.includes(name))
  if (newer) {
    throw new Error(
      `The metadata store was written by a newer version: its schema has migration [${newer}], but this version only knows migrations up to [${known.at(-1)}]`,
    )
  }
  return applied.length === known.length
}

/**
 * Migrates the metadata store to the schema of this version. Several servers may call this concurrently. With `count`,
 * creates the schema of an earlier version in an empty database: only the first `count` migrations run.
 */
export async function migrateSchema(database: Database, count = Number.POSITIVE_INFINITY): Promise<void> {
  if (await isSchemaCurrent(database)) return
  await database.transaction(async (transaction) => {
    // Migrations may take long, and so may waiting for them.
    await transaction.query(sql`SET LOCAL idle_in_transaction_session_timeout = 0`)
    await transaction.query(sql`SET LOCAL lock_timeout = 0`)
    await transaction.query(sql`SELECT pg_advisory_xact_lock(${migrationLock})`)
    if (await isSchemaCurrent(database)) return
    // Loaded only if there is something to migrate.
    const { runner } = await import('node-pg-migrate')
    await runner({
      dbClient: transaction.client,
      dir: new URL('.', directory).pathname.replace(/\/$/, ''),
      direction: 'up',
      migrationsTable: 'schema_migrations',
      count,
      noLock: true,
      // One transaction for all migrations: the runner would otherwise end this one, which releases the lock.
      singleTransaction: true,
      log: () => undefined,
    })
  })
}
