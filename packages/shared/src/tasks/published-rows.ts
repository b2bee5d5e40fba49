import { payloadOf, type Segment, type SegmentPayload } from '@svc/domain/segment'
import type { DeepStorage } from '../deep-storage/index.ts'
import type { WrittenSegment } from '../ingestion/index.ts'
import { saveSegmentSchemas, type Transaction } from '../postgres/index.ts'

/** The attempt that publishes. */
export interface PublishingAttempt {
  readonly taskId: string
  readonly attempt: number
  readonly priority: number
  readonly progress: unknown
  /** The type of deep storage that its files are in. */
  readonly storageType: DeepStorage['type']
}

/** The outcome of a publication, which is all or nothing. */
export type PublishedState =
  | 'published'
  /** The attempt was superseded, canceled, or preempted. */
  | 'notTheAttempt'
  /** A task of the same or a higher priority has the interval; publishing must be retried. */
  | 'intervalTaken'

/** Thrown to roll back a transaction whose attempt was superseded, canceled, or preempted. */
export class NotTheAttempt extends Error {}

/** Properties of new segments other than their files. */
export interface RowDetails {
  readonly loadType: SegmentPayload['loadSpec']['type']
  readonly inPayload?: Partial<SegmentPayload>
  readonly compactionState?: number
}

/** Returns the rows of new segments for the metadata store. Stores their segment schemas in the same transaction. */
export async function newRows(
  transaction: Transaction,
  added: readonly { readonly segment: Segment; readonly chunk: { readonly written: WrittenSegment } }[],
  { loadType, inPayload, ...row }: RowDetails,
) {
  const known = added.map(({ chunk }) => chunk.written.columns).filter((columns) => columns !== undefined)
  const numbers = await saveSegmentSchemas(transaction, known)
  const numberOf = new Map(known.map((columns, index) => [columns, numbers[index]]))
  return added.map(({ segment, chunk: { written } }) => ({
    segment,
    payload: {
      ...payloadOf(segment, {
        loadSpec: { type: loadType, path: written.path, checksum: written.checksum },
        dimensions: written.dimensions.join(','),
        metrics: written.metrics.join(','),
      }),
      ...inPayload,
    },
    schemaId: written.columns && numberOf.get(written.columns),
    ...row,
  }))
}
