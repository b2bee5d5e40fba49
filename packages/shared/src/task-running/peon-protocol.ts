import type { RewriteOrder, RewriteProgress, RewriteResult } from '../compaction/rewriting/index.ts'
import type { HttpInputLimits, IndexProgress, InputAccess, WrittenSegment } from '../ingestion/index.ts'

/** The only message to a peon: its work. */
export interface PeonOrder {
  readonly taskId: string
  readonly attempt: number
  readonly work: PeonWork
  readonly workDirectory: string
  readonly storageDirectory: string
  readonly pathPrefix: string
  readonly memoryLimitBytes: number
  readonly threads: number
  /** Injected delay of each access to deep storage, in milliseconds. */
  readonly diskDelayMs: number
}

/** Work that needs its own process. */
export type PeonWork =
  | {
      readonly kind: 'index'
      readonly payload: unknown
      readonly access: InputAccess
      readonly httpLimits: HttpInputLimits
    }
  | { readonly kind: 'compact'; readonly order: RewriteOrder }

/** The columns that a compaction has written. */
export type WrittenColumns = Pick<RewriteResult, 'dimensions' | 'metrics'>

/** A message from a peon. */
export type PeonMessage =
  | { readonly kind: 'progress'; readonly progress: IndexProgress | RewriteProgress }
  | {
      readonly kind: 'done'
      readonly segments: readonly WrittenSegment[]
      /** Only for a compaction. */
      readonly columns?: WrittenColumns
    }
  | { readonly kind: 'failed'; readonly message: string }
