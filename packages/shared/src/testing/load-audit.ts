import { type AuditQuery, loadAuditInPages, type Queries, type StoredAuditEntry } from '../postgres/index.ts'

/** Returns all entries of a history; see `loadAuditInPages`. */
export async function loadAudit(queries: Queries, query: AuditQuery): Promise<StoredAuditEntry[]> {
  return (await Array.fromAsync(loadAuditInPages(queries, query))).flat()
}
