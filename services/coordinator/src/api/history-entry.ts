import { formatInstant } from '@svc/domain/time'
import type { StoredAuditEntry } from '@svc/shared/postgres'

/** An entry of a history as the endpoints of histories answer it. */
export function historyEntry(entry: StoredAuditEntry) {
  const { key, type, author, identity, comment, ip, payload, createdAt } = entry
  return {
    key,
    type,
    auditInfo: { author, identity, comment, ip },
    request: null,
    payload,
    auditTime: formatInstant(createdAt),
  }
}
