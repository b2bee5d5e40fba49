import { conflict } from '@svc/domain/failure'
import { type AuditEntry, saveAudit } from './audit.ts'
import { type Database, type Queries, sql } from './database.ts'

/** A dynamic configuration as JSON text; its revision counts the changes. */
export interface StoredConfig {
  readonly value: string
  readonly revision: number
}

/** Returns the configuration with this name; undefined if none is stored yet. */
export async function loadConfig(queries: Queries, name: string): Promise<StoredConfig | undefined> {
  const [row] = await queries.query<StoredConfig>(
    sql`SELECT value, revision FROM dynamic_configs WHERE name = ${name}`,
  )
  return row
}

/**
 * Stores a configuration with its audit entry. Throws a `conflict` Failure if it no longer has the revision that was
 * read (0 for none), because another request has changed it.
 */
export async function saveConfig(
  database: Database,
  name: string,
  value: string,
  readRevision: number,
  audit: Omit<AuditEntry, 'type' | 'key' | 'payload'>,
  now: number,
): Promise<void> {
  await database.transaction(async (transaction) => {
    const rows = await transaction.query(sql`
      INSERT INTO dynamic_configs AS config (name, value) VALUES (${name}, ${value})
      ON CONFLICT (name) DO UPDATE SET value = excluded.value, revision = config.revision + 1
      WHERE config.revision = ${readRevision} RETURNING revision`)
    if (rows.length === 0)
      throw conflict(`Another request has changed configuration [${name}] in the meantime`)
    await saveAudit(transaction, { ...audit, type: name, key: name, payload: value }, now)
  })
}
