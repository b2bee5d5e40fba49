import { jsonList } from '@svc/domain/json'
import { formatInstant } from '@svc/domain/time'
import { createConcurrencyLimit } from '@svc/shared/concurrency-limit'
import { JsonPieces } from '@svc/shared/http'
import { type AuditQuery, loadAuditInPages, type Queries, type StoredAuditEntry } from '@svc/shared/postgres'
import { auditInfoShape } from '@svc/shared/shapes'
import * as z from 'zod'

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
  .meta({
    title: 'AuditEntry',
    description: 'The `payload` field contains the stored value as a JSON string',
  })

/** Returns a history entry as the endpoints show it. */
function historyEntry(entry: StoredAuditEntry) {
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

/** Shape of an entry of the history of rules. */
export const fullHistoryEntryShape = z
  .object({
    ...historyEntryShape.shape,
    id: z.int().optional().describe('ID of the change; returned only with `full`'),
    replaced: z
      .string()
      .nullable()
      .optional()
      .describe('Rules before the change as a JSON string, or null if unknown; returned only with `full`'),
  })
  .meta({
    title: 'RulesAuditEntry',
    description: 'The `payload` field contains the stored rules as a JSON string',
  })

/** Returns an entry of the history of rules with its ID and the rules that it replaced. */
function fullHistoryEntry(entry: StoredAuditEntry) {
  return { id: entry.id, ...historyEntry(entry), replaced: entry.replaced ?? null }
}

// Reading a page of large entries takes several milliseconds without a pause.
const readPage = createConcurrencyLimit(1)

/**
 * Returns the response with the entries of a history. They are read in pages and sent one by one, because an entry has up to 4 MiB.
 * With `withReplaced`, they have the fields of fullHistoryEntryShape.
 */
export function historyAnswer(queries: Queries, query: AuditQuery): JsonPieces {
  const format = query.withReplaced ? fullHistoryEntry : historyEntry
  const limited: Queries = { query: (statement) => readPage(() => queries.query(statement)) }
  return new JsonPieces(jsonList(entriesOneByOne(loadAuditInPages(limited, query), format)))
}

/** Generates entries as JSON text one by one. */
async function* entriesOneByOne(
  pages: AsyncIterable<readonly StoredAuditEntry[]>,
  format: (entry: StoredAuditEntry) => object,
): AsyncGenerator<string[]> {
  for await (const page of pages) for (const entry of page) yield [JSON.stringify(format(entry))]
}
