import { formatInstant } from '@svc/domain/time'
import type { StoredAuditEntry } from '@svc/shared/postgres'
import { auditInfoShape } from '@svc/shared/shapes'
import { z } from 'zod'

/** Shape of a history entry. */
export const historyEntryShape = z
  .object({
    key: z.string(),
    type: z.string(),
    auditInfo: auditInfoShape,
    request: z.unknown(),
    payload: z.string(),
    auditTime: z.string(),
  })
  .meta({ title: 'AuditEntry', description: 'The payload is the stored value as a JSON string' })

/** Returns a history entry as the endpoints show it. */
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
