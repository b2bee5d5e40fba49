import type { IndexProgress, InputAccess, WrittenSegment } from '@svc/shared/ingestion'

/** What a peon is told to do, once. */
export interface PeonOrder {
  readonly taskId: string
  readonly attempt: number
  readonly payload: unknown
  readonly access: InputAccess
  readonly workDirectory: string
  readonly storageDirectory: string
  readonly pathPrefix: string
  readonly memoryLimitBytes: number
}

/** What a peon tells. */
export type PeonMessage =
  | { readonly kind: 'progress'; readonly progress: IndexProgress }
  | { readonly kind: 'done'; readonly segments: readonly WrittenSegment[] }
  | { readonly kind: 'failed'; readonly message: string }
