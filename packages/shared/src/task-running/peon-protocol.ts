import type { HttpInputLimits, IndexProgress, InputAccess, WrittenSegment } from '../ingestion/index.ts'
import type { RewriteOrder, RewriteProgress, RewriteResult } from '../rewriting/index.ts'

/** What a peon is told to do, once. */
export interface PeonOrder {
  readonly taskId: string
  readonly attempt: number
  readonly work: PeonWork
  readonly workDirectory: string
  readonly storageDirectory: string
  readonly pathPrefix: string
  readonly memoryLimitBytes: number
  readonly threads: number
  /** How long each use of deep storage is to wait, on purpose. */
  readonly diskDelayMs: number
}

/** What a process of its own is needed for. */
export type PeonWork =
  | {
      readonly kind: 'index'
      readonly payload: unknown
      readonly access: InputAccess
      readonly httpLimits: HttpInputLimits
    }
  | { readonly kind: 'compact'; readonly order: RewriteOrder }

/** The columns of what a compaction has written. */
export type WrittenColumns = Pick<RewriteResult, 'dimensions' | 'metrics'>

/** What a peon tells. */
export type PeonMessage =
  | { readonly kind: 'progress'; readonly progress: IndexProgress | RewriteProgress }
  | {
      readonly kind: 'done'
      readonly segments: readonly WrittenSegment[]
      /** Of a compaction. */
      readonly columns?: WrittenColumns
    }
  | { readonly kind: 'failed'; readonly message: string }
