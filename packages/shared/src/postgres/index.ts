/** The metadata store: everything that must not be lost, one file per concept. */
export {
  type AuditEntry,
  type AuditQuery,
  loadAuditInPages,
  loadAuditKeys,
  type StoredAuditEntry,
  saveAudit,
} from './audit.ts'
export * from './cluster-clock.ts'
export * from './cluster-id.ts'
export * from './compaction.ts'
export * from './compaction-tasks.ts'
export {
  createDatabase,
  type Database,
  type Queries,
  sql,
  type Transaction,
} from './database.ts'
export { canRestore, type DumpedTable, dumpFiles, dumpTables, restoreTables } from './dump.ts'
export * from './dynamic-configs.ts'
export * from './erase-old.ts'
export * from './leases.ts'
export * from './load-rates.ts'
export { isSchemaCurrent, knownMigrations, migrateSchema } from './migrate.ts'
export * from './nodes.ts'
export type { Listener } from './notices.ts'
export * from './resets.ts'
export * from './rules.ts'
export * from './security-changes.ts'
export * from './security-events.ts'
export type { StoredSegment } from './segment-rows.ts'
export * from './segment-schemas.ts'
export * from './segments.ts'
export * from './server-problems.ts'
export { shareConnections } from './shared-connections.ts'
export * from './store-copies.ts'
export * from './table-changes.ts'
export * from './task-id.ts'
export * from './tasks.ts'
export * from './topics.ts'
export * from './unused-segments.ts'
export * from './users-and-roles.ts'
