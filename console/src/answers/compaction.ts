export type CompactionState = 'awaiting' | 'skipped' | 'compacted'

/** An interval in the compaction status. */
export interface CompactionInterval {
  readonly interval: string
  readonly bytes: number
  readonly segments: number
  readonly reason?: string
  readonly slots?: number
}

/** The compaction status of one datasource. */
export interface CompactionStatus {
  readonly dataSource: string
  readonly scheduleStatus: 'RUNNING' | 'NOT_ENABLED'
  readonly bytesAwaitingCompaction: number
  readonly intervalCountAwaitingCompaction: number
  readonly intervalCountCompacted: number
  readonly intervalCountSkipped: number
  readonly bytesCompacted: number
  readonly bytesSkipped: number
  readonly intervals?: Readonly<Record<CompactionState, readonly CompactionInterval[]>>
}
