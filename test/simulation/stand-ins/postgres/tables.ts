import type { LoadSums } from '@svc/domain/load-time'
import type { SegmentColumn, SegmentPayload } from '@svc/domain/segment'
import type { Interval } from '@svc/domain/time'
import type {
  AnnouncedNode,
  AuditEntry,
  CompactTaskRecord,
  ServerProblem,
  StoredSegment,
  StoredTask,
  UnusedCause,
  WatchedTable,
} from '@svc/shared/postgres'

/** The committed rows of a table by key. */
export class Table<Row> {
  readonly name: string
  /** The name under which commits report changes, as a trigger does in Postgres; undefined if none does. */
  readonly reportedAs: WatchedTable | undefined
  readonly rows = new Map<string, Row>()

  constructor(name: string, reportedAs?: WatchedTable) {
    this.name = name
    this.reportedAs = reportedAs
  }
}

export interface SegmentEntry extends StoredSegment {
  readonly payload: SegmentPayload
  readonly createdAt: number
  readonly usedChangedAt: number
  readonly taskId: string | null
  readonly cause: UnusedCause | null
  /** The transaction that last wrote the row. */
  readonly changedIn: number
}

export interface TaskEntry extends Omit<StoredTask, 'shownId'> {
  readonly payload: unknown
  readonly claimedUntil: number | null
  readonly compaction: Pick<CompactTaskRecord, 'interval' | 'origin'>
}

export interface LeaseEntry {
  readonly role: string
  readonly holder: string
  readonly node: string
  readonly baseUrl: string
  readonly term: number
  readonly expiresAt: number
}

export interface LockEntry {
  readonly taskId: string
  readonly dataSource: string
  readonly interval: Interval
  readonly priority: number
}

export interface AuditRow extends AuditEntry {
  readonly id: number
  readonly createdAt: number
}

export interface FloorEntry {
  readonly dataSource: string
  readonly interval: Interval
  readonly version: string
  readonly partitionNum: number
}

/** The tables of the metadata store that servers of a cluster without logins use. */
export const createTables = () => ({
  segments: new Table<SegmentEntry>('segments', 'segments'),
  removals: new Table<{ readonly id: string; readonly changedIn: number; readonly removedAt: number }>(
    'removals',
  ),
  floors: new Table<FloorEntry>('floors'),
  rules: new Table<{ readonly rules: string; readonly auditId: number | null }>('rules'),
  configs: new Table<{ readonly value: string; readonly revision: number }>('configs', 'dynamic_configs'),
  audit: new Table<AuditRow>('audit'),
  tasks: new Table<TaskEntry>('tasks'),
  locks: new Table<LockEntry>('locks'),
  nodes: new Table<AnnouncedNode & { readonly heartbeatAt: number }>('nodes'),
  leases: new Table<LeaseEntry>('leases'),
  serverProblems: new Table<ServerProblem & { readonly reportedAt: number }>('serverProblems'),
  loadRates: new Table<{ readonly sums: LoadSums; readonly measuredAt: number }>('loadRates'),
  schemas: new Table<{ readonly id: number; readonly columns: readonly SegmentColumn[] }>('schemas'),
  compactionConfigs: new Table<string>('compactionConfigs'),
  compactionStates: new Table<{ readonly id: number; readonly state: unknown }>('compactionStates'),
})

export type Tables = ReturnType<typeof createTables>
