import { payloadOf, type Segment, type SegmentPayload } from '@svc/domain/segment'
import type { WrittenSegment } from '../ingestion/index.ts'
import { saveSegmentSchemas, type Transaction } from '../postgres/index.ts'

/** The attempt that publishes. */
export interface PublishingAttempt {
  readonly taskId: string
  readonly attempt: number
  readonly priority: number
  readonly progress: unknown
}

/** What became of a publication: all of it, or nothing. */
export type PublishedState =
  | 'published'
  /** Another attempt of the task counts, or it was ended. */
  | 'notTheAttempt'
  /** A task of the same or a higher priority has the interval: it is to be tried again. */
  | 'intervalTaken'

/** Thrown in a transaction to undo it: the attempt that it is for no longer counts. */
export class NotTheAttempt extends Error {}

/** What new segments have besides their files. */
export interface RowDetails {
  readonly loadType: SegmentPayload['loadSpec']['type']
  readonly inPayload?: Partial<SegmentPayload>
  readonly compactionState?: number
}

/** The rows of new segments for the metadata store, with their columns, which are stored on the way. */
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
