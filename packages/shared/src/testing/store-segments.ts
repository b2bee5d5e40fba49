import { payloadOf, type Segment } from '@svc/domain/segment'
import { copySegments, type Database } from '../postgres/index.ts'

/** Stores used segments; all refer to the file at `path` in deep storage, which does not exist by default. */
export async function storeSegments(
  database: Database,
  segments: readonly Segment[],
  path = 'x',
): Promise<void> {
  const loadSpec = { type: 'local', path, checksum: 'sha256:00' } as const
  const withPayloads = segments.map((segment) => ({
    segment,
    payload: payloadOf(segment, { loadSpec, dimensions: '', metrics: '' }),
  }))
  await database.transaction((transaction) => copySegments(transaction, withPayloads, undefined, 0))
}
