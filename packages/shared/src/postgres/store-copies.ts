import { type Database, type Queries, sql, type Transaction } from './database.ts'
import { quoted, tablesOfServers } from './tables-left-out.ts'

const schemaOf = (copy: string): string => `copy ${copy}`

/** Returns whether the store contains a copy of this name. */
export async function hasCopy(queries: Queries, copy: string): Promise<boolean> {
  const rows = await queries.query(sql`SELECT 1 FROM pg_namespace WHERE nspname = ${schemaOf(copy)}`)
  return rows.length > 0
}

/**
 * Stores a copy of the content of the store, in the same database. Replaces an older copy of that name, unless
 * `keepsExisting`: then tables that a newer version of svc has just created are added to it, and to all others.
 */
export async function copyStore(
  database: Database,
  copy: string,
  { keepsExisting = false }: { readonly keepsExisting?: boolean } = {},
): Promise<void> {
  const schema = quoted(schemaOf(copy))
  await database.transaction(async (transaction) => {
    // One view of all tables. Concurrent copies wait for each other; a lock on a table does not begin the view.
    await transaction.query(sql`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ`)
    await transaction.query(sql`LOCK TABLE public.schema_migrations IN SHARE UPDATE EXCLUSIVE MODE`)
    if (keepsExisting && (await hasCopy(transaction, copy))) return await addNewTables(transaction)
    const tables = await tablesOf(transaction)
    const statements = [
      `DROP SCHEMA IF EXISTS ${schema} CASCADE`,
      `CREATE SCHEMA ${schema}`,
      ...tables.map(
        ({ name, columns }) =>
          `CREATE TABLE ${schema}.${quoted(name)} AS SELECT ${columns} FROM public.${quoted(name)}`,
      ),
      `CREATE TABLE ${schema}." sequences" AS
        SELECT sequencename::text AS name, last_value FROM pg_sequences WHERE schemaname = 'public'`,
    ]
    await transaction.client.query(statements.join(';\n'))
  })
}

async function addNewTables(transaction: Transaction): Promise<void> {
  const copies = await transaction.query<{ name: string }>(
    sql`SELECT nspname::text AS name FROM pg_namespace WHERE nspname LIKE 'copy %'`,
  )
  const tables = await tablesOf(transaction)
  const statements = copies.flatMap((copy) =>
    tables.map(
      ({ name, columns }) =>
        `CREATE TABLE IF NOT EXISTS ${quoted(copy.name)}.${quoted(name)} AS SELECT ${columns} FROM public.${quoted(name)}`,
    ),
  )
  await transaction.client.query(statements.join(';\n'))
}

/**
 * Replaces the content of the store with a copy. Columns that the copy of an earlier version does not have get their default
 * values. No server may use the store at that time. Requires a superuser of
 * Postgres, because triggers and foreign keys are off meanwhile: everything is replaced.
 */
export async function restoreStore(transaction: Transaction, copy: string): Promise<void> {
  const schema = quoted(schemaOf(copy))
  const tables = await tablesOf(transaction, schemaOf(copy))
  const statements = [
    'SET LOCAL session_replication_role = replica',
    ...tables.flatMap(({ name, columns }) => [
      `DELETE FROM public.${quoted(name)}`,
      `INSERT INTO public.${quoted(name)} (${columns}) OVERRIDING SYSTEM VALUE
        SELECT ${columns} FROM ${schema}.${quoted(name)}`,
    ]),
    `SELECT setval(format('public.%I', name)::regclass, coalesce(last_value, 1), last_value IS NOT NULL)
      FROM ${schema}." sequences"`,
    'SET LOCAL session_replication_role = origin',
  ]
  await transaction.client.query(statements.join(';\n'))
}

/** Returns the copied tables, each with its quoted columns as one list: those that the table of this name in `schema` has, too. */
async function tablesOf(
  transaction: Transaction,
  schema = 'public',
): Promise<{ name: string; columns: string }[]> {
  return await transaction.query(sql`
    SELECT c.relname::text AS name, string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum) AS columns
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
      JOIN pg_attribute b ON b.attrelid = to_regclass(format('%I.%I', ${schema}::text, c.relname)) AND b.attname = a.attname
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND NOT c.relname::text = ANY(${tablesOfServers})
      AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '' AND NOT b.attisdropped
    GROUP BY c.relname`)
}
