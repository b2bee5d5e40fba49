import type { Readable, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { from as copyFrom } from 'pg-copy-streams'
import { copyOut, withoutTimeout } from './copy-out.ts'
import { type Database, sql, type Transaction } from './database.ts'
import { knownMigrations, migrateSchema } from './migrate.ts'
import { quoted, tablesOfServers } from './tables-left-out.ts'

/** A dumped table, with its columns in the order of the dump. */
export interface DumpedTable {
  readonly name: string
  readonly columns: readonly string[]
}

/** The destination of a dump. */
export interface DumpTarget {
  /** Opens a stream for the rows of a table, in the text format of COPY. */
  table(name: string): Writable
  /** Opens a stream for the list of files in deep storage; see `dumpFiles`. */
  files(): Writable
}

/**
 * Writes a snapshot of all tables without blocking writers. Returns the tables in the order in which to restore them.
 */
export async function dumpTables(database: Database, target: DumpTarget): Promise<DumpedTable[]> {
  return await database.transaction(async (transaction) => {
    await transaction.query(sql`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY`)
    await withoutTimeouts(transaction)
    const tables = await tablesOf(transaction)
    for (const { name, columns } of tables) {
      const what = `${quoted(name)} (${columns.map(quoted).join(', ')})`
      await copyTo(transaction, what, target.table(name))
    }
    await copyFilesTo(transaction, target.files())
    return tables
  })
}

/**
 * Writes the files in deep storage that segments reference, one per line: checksum, size in bytes, and path,
 * tab-separated.
 */
export async function dumpFiles(database: Database, target: Writable): Promise<void> {
  await database.transaction(async (transaction) => {
    await withoutTimeouts(transaction)
    await copyFilesTo(transaction, target)
  })
}

async function copyFilesTo(transaction: Transaction, target: Writable): Promise<void> {
  const files = `(SELECT DISTINCT payload #>> '{loadSpec,checksum}', payload ->> 'size', payload #>> '{loadSpec,path}'
    FROM segments WHERE payload #>> '{loadSpec,type}' <> 'virtual')`
  await copyTo(transaction, files, target)
}

async function copyTo(transaction: Transaction, what: string, target: Writable): Promise<void> {
  await copyOut(transaction, `COPY ${what} TO STDOUT`, (rows) => pipeline(rows, target), {
    hasNoTimeout: true,
  })
}

/**
 * Restores dumped tables into an empty database, all or nothing. `migrations` are those of the dumped database: its
 * older schema is created, and the first coordinator that starts migrates it.
 */
export async function restoreTables(
  database: Database,
  migrations: readonly string[],
  tables: readonly DumpedTable[],
  read: (name: string) => Readable,
): Promise<void> {
  await migrateSchema(database, migrations.length)
  await database.transaction(async (transaction) => {
    await withoutTimeouts(transaction)
    const known = new Set((await tablesOf(transaction)).map(({ name }) => name))
    for (const { name } of tables) {
      if (!known.has(name)) throw new Error(`The schema has no table [${name}]`)
      await transaction.client.query(`TRUNCATE ${quoted(name)} CASCADE`)
    }
    for (const { name, columns } of tables) {
      const text = `COPY ${quoted(name)} (${columns.map(quoted).join(', ')}) FROM STDIN`
      await pipeline(read(name), transaction.client.query(withoutTimeout(copyFrom(text))))
    }
    await transaction.query(sql`
      SELECT setval(sequence, highest + 1, false) FROM (
        SELECT pg_get_serial_sequence(quote_ident(table_name), column_name) AS sequence,
          (xpath('/row/highest/text()', query_to_xml(format(
            'SELECT coalesce(max(%I), 0) AS highest FROM %I', column_name, table_name), true, true, '')))[1]::text::bigint
            AS highest
        FROM information_schema.columns WHERE table_schema = 'public' AND is_identity = 'YES'
      ) AS identities`)
  })
}

/** Whether a dump with these migrations can be restored here: they must be the first known ones, in order. */
export function canRestore(migrations: readonly string[]): boolean {
  const known = knownMigrations()
  return migrations.length > 0 && migrations.every((name, index) => known[index] === name)
}

async function withoutTimeouts(transaction: Transaction): Promise<void> {
  await transaction.query(sql`SET LOCAL statement_timeout = 0`)
  await transaction.query(sql`SET LOCAL idle_in_transaction_session_timeout = 0`)
}

/** Returns the tables with their columns, each after the tables that it references. */
async function tablesOf(transaction: Transaction): Promise<DumpedTable[]> {
  const rows = await transaction.query<{ name: string; columns: string[]; parents: string[] }>(sql`
    SELECT t.table_name AS name,
      (SELECT array_agg(c.column_name::text ORDER BY c.ordinal_position) FROM information_schema.columns c
        WHERE c.table_schema = 'public' AND c.table_name = t.table_name AND c.is_generated = 'NEVER') AS columns,
      (SELECT coalesce(array_agg(DISTINCT p.relname::text), '{}') FROM pg_constraint k
        JOIN pg_class p ON p.oid = k.confrelid
        WHERE k.contype = 'f' AND k.conrelid = quote_ident(t.table_name)::regclass) AS parents
    FROM information_schema.tables t
    WHERE t.table_schema = 'public' AND t.table_type = 'BASE TABLE' AND NOT t.table_name = ANY(${tablesOfServers})
    ORDER BY t.table_name`)
  const ordered: DumpedTable[] = []
  const placed = new Set<string>()
  const place = ({ name, columns, parents }: (typeof rows)[number]): void => {
    if (placed.has(name)) return
    placed.add(name)
    for (const parent of rows.filter((row) => parents.includes(row.name))) place(parent)
    ordered.push({ name, columns })
  }
  for (const row of rows) place(row)
  return ordered
}
