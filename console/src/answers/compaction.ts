export const compactionStates = ['awaiting', 'skipped', 'compacted'] as const
export type CompactionState = (typeof compactionStates)[number]

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

/** How many intervals are fetched at most: more would take seconds to read. */
export const maxCompactionIntervals = 50_000

/** Returns the number of intervals of a datasource. */
export const intervalCountOf = (status: CompactionStatus): number =>
  status.intervalCountAwaitingCompaction + status.intervalCountCompacted + status.intervalCountSkipped
