import type { StoreConfig } from '../deep-storage/index.ts'
import type { WorkTools, Written } from '../tasks/index.ts'

/** The only message to a peon: its work. */
export interface PeonOrder
  extends Pick<WorkTools, 'workDirectory' | 'pathPrefix' | 'memoryLimitBytes' | 'threads'> {
  /** As users see it. Tasks of other datasources may have the same one. */
  readonly taskId: string
  readonly attempt: number
  /** The type of the task, whose `work` the peon does. */
  readonly type: string
  /** The order for this work. */
  readonly order: unknown
  /** Where deep storage is. It may contain the keys of S3, so it is not passed in the environment. */
  readonly storage: StoreConfig
  /** Injected delay of each access to deep storage, in milliseconds. */
  readonly diskDelayMs: number
}

/** A message from a peon. */
export type PeonMessage =
  | { readonly kind: 'progress'; readonly progress: Parameters<WorkTools['onProgress']>[0] }
  | ({ readonly kind: 'done' } & Written)
  | { readonly kind: 'failed'; readonly message: string }
