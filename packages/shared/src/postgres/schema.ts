import { readdirSync } from 'node:fs'
import { type Database, sql } from './database.ts'

const directory = new URL('./migrations/', import.meta.url)
// The lock that lets one server at a time migrate; the number is arbitrary.
const migrationLock = 7_368_435

/** The names of the migrations that this version has, oldest first. */
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
 * Whether the store has the schema of this version. Throws a plain error where a newer version has been there:
 * its data could be misread.
 */
export async function isSchemaCurrent(database: Database): Promise<boolean> {
  const known = knownMigrations()
  const applied = await appliedMigrations(database)
  const newer = applied.find((name) => !known.includes(name))
  if (newer) {
    throw new Error(
      `The metadata store was written by a newer version: its schema has [${newer}], the last known here is [${known.at(-1)}]`,
    )
  }
  return applied.length === known.length
}

/**
 * Brings the store to the schema of this version; safe to call from several servers at once. An empty store can be
 * brought to that of an earlier version: to its first `count` migrations.
 */
export async function migrateSchema(database: Database, count = Number.POSITIVE_INFINITY): Promise<void> {
  if (await isSchemaCurrent(database)) return
  await database.transaction(async (transaction) => {
    // Migrations take their time, and those who wait for them as well.
    await transaction.query(sql`SET LOCAL idle_in_transaction_session_timeout = 0`)
    await transaction.query(sql`SET LOCAL lock_timeout = 0`)
    await transaction.query(sql`SELECT pg_advisory_xact_lock(${migrationLock})`)
    if (await isSchemaCurrent(database)) return
    // Loaded only where there is something to migrate.
    const { runner } = await import('node-pg-migrate')
    await runner({
      dbClient: transaction.client,
      dir: new URL('.', directory).pathname.replace(/\/$/, ''),
      direction: 'up',
      migrationsTable: 'schema_migrations',
      count,
      noLock: true,
      // One transaction for all: the runner ends the one that it finds, and the lock with it.
      singleTransaction: true,
      log: () => undefined,
    })
  })
}
