import type {
  AnsweredBuckets,
  AnsweredSummary,
  EditLosses,
  PreviewWarning,
  ReplicaLane,
  RuleLane,
  ServedFigures,
  ServerChanges,
  ServerChangesPreview,
  TierMove,
} from '@svc/domain/preview'
import type { CompactionOverTime } from './compaction-runs.ts'
import type { DroppedSegments } from './dropped-segments.ts'

/** The answer to a preview request. */
export interface PreviewAnswer {
  readonly now: string
  readonly known: boolean
  readonly reasons?: readonly string[]
  readonly summary: AnsweredSummary
  readonly warnings: readonly PreviewWarning[]
}

/** A part of the time axis, in epoch milliseconds. */
export interface TimeRange {
  readonly start: number
  readonly end: number
}

/** What to preview for one datasource. */
export interface PreviewTask {
  readonly dataSource: string
  /** The rules as JSON; undefined for the stored ones. */
  readonly rules: readonly object[] | undefined
  /** When the rules are evaluated; undefined for the current time of the cluster. */
  readonly now: number | undefined
  /** The part of the time axis to show; undefined for all data. */
  readonly range: TimeRange | undefined
  readonly maxBuckets: number
  /** Whether to assume that all replicas fit in tiers that may run out of space, which is much faster. */
  readonly assumesSpace: boolean
}

/** What an edit loses at the time of the preview, and, if that is in the future, when it is applied. */
export interface LossesOfEdit {
  readonly atTime: EditLosses
  readonly atOnce: EditLosses | undefined
}

/** A preview, computed by the page itself or by the coordinator. */
export interface PreviewView {
  readonly answer: PreviewAnswer
  /** Whether replicas are assumed to fit in tiers that may run out of space. */
  readonly assumesSpace: boolean
  readonly buckets: AnsweredBuckets | undefined
  /** How completely segments are served; undefined if the coordinator computed the preview. */
  readonly replicas: ReplicaLane | undefined
  /** Which rules apply to the segments; undefined if the coordinator computed the preview. */
  readonly rules: RuleLane | undefined
  readonly moves: readonly TierMove[] | undefined
  /** What an edit loses; undefined for the stored rules, and if the coordinator computed the preview. */
  readonly losses: LossesOfEdit | undefined
  /** From the start of the first segment to the end of the last. */
  readonly extent: TimeRange | undefined
  /** How long the preview took. */
  readonly tookMs: number
}

/** What the page knows about the cluster without further requests. */
export interface InventoryFigures {
  readonly revision: string
  readonly now: number
  /** Whether previews are computed in the page. */
  readonly isLocal: boolean
  readonly tiers: readonly { readonly name: string; readonly servers: number }[]
  readonly datasources: readonly ServedFigures[]
}

/** One segment, with what its rule requires and which servers serve it. */
export interface ExplainedSegment {
  readonly id: string
  readonly interval: string
  readonly version: string
  readonly partitionNum: number
  readonly sizeBytes: number
  readonly isOvershadowed: boolean
  /** Number of the rule in the list of the datasource, or in the cluster defaults. */
  readonly rule: { readonly index: number; readonly source: 'datasource' | 'default' } | undefined
  readonly action: 'load' | 'drop' | 'broadcast'
  /** Replicas by tier: required by the rule, and served. */
  readonly tiers: readonly { readonly tier: string; readonly wanted: number; readonly served: number }[]
  readonly servers: readonly string[]
}

/** Which segments to explain. */
export interface ExplainTask {
  readonly dataSource: string
  readonly range: TimeRange
  /** Whether to return only segments that lack replicas. */
  readonly onlyLacking: boolean
  readonly limit: number
}

/** The segments of a part of the time axis, oldest first. */
export interface ExplainedSegments {
  readonly total: number
  /** Those of them that lack replicas. */
  readonly lacking: number
  readonly segments: readonly ExplainedSegment[]
}

/** Which rules to apply to a datasource. */
export type DroppedTask = Pick<PreviewTask, 'dataSource' | 'rules'>

/** Where the files of a snapshot are: chosen by the user, or in a folder of the server of the page. */
export type SnapshotPlace =
  | { readonly files: readonly File[]; readonly name?: string }
  | { readonly address: string }

/** What was read from a snapshot. */
export interface OpenedSnapshot {
  /** Name of its folder, or of its only file. */
  readonly name: string
  readonly segments: number
  readonly servers: number
  /** Whether the snapshot says which server serves which segment. Otherwise, segments are where their rules require them. */
  readonly hasPlacement: boolean
  /** Number of unreadable parts, and the first of them. */
  readonly problemCount: number
  readonly problems: readonly string[]
}

/** An answer of the API, without a server. */
export interface LocalAnswer {
  readonly status: number
  readonly body: string
}

/** Requests to the worker, by kind. */
export interface WorkerCalls {
  /** Fetches the inventory, or without READ on the state of the cluster, what the user may read instead. */
  readonly refresh: { readonly input: { readonly canReadState: boolean }; readonly output: InventoryFigures }
  readonly preview: { readonly input: PreviewTask; readonly output: PreviewView }
  /** The segments that rules would mark as unused. */
  readonly dropped: { readonly input: DroppedTask; readonly output: DroppedSegments }
  /** What the stored rules do to all datasources at a time. */
  readonly future: { readonly input: { readonly now: number }; readonly output: PreviewAnswer }
  /** What changes to the servers do under the stored rules. */
  readonly changeServers: { readonly input: ServerChanges; readonly output: ServerChangesPreview }
  /** Replaces the cluster with a snapshot. */
  readonly openSnapshot: { readonly input: SnapshotPlace; readonly output: OpenedSnapshot }
  /** A request to the API of the opened snapshot. */
  readonly request: {
    readonly input: { readonly method: string; readonly path: string }
    readonly output: LocalAnswer
  }
  /** The compaction of a datasource over time; null if it is not compacted. */
  readonly compaction: {
    readonly input: { readonly dataSource: string }
    readonly output: CompactionOverTime | null
  }
  readonly explain: { readonly input: ExplainTask; readonly output: ExplainedSegments }
  /** Starts or stops following the changes of the cluster. */
  readonly follow: { readonly input: { readonly isOn: boolean }; readonly output: null }
}

/** What has changed in the cluster, as the coordinator reports it. */
export interface ClusterChanges {
  readonly now: string
  /** Datasources with changed segments, and how many were added and removed. */
  readonly segments: Readonly<Record<string, { readonly added: number; readonly removed: number }>>
  /** Datasources with changed rules. */
  readonly rules: readonly string[]
  /** Datasources with tasks that were created, started, or ended. */
  readonly tasks?: readonly string[]
  readonly servers?: boolean
  /** What else has changed. */
  readonly topics?: readonly ('access' | 'audit' | 'nodes' | 'refusals' | 'serverProblems')[]
  readonly clusterState?: object
}

/** What happens in the cluster, and to the connection to it. */
export type ClusterEvent =
  | { readonly kind: 'connected' }
  | { readonly kind: 'changes'; readonly changes: ClusterChanges }
  /** Anything may have changed. */
  | { readonly kind: 'reset' }
  | { readonly kind: 'lost'; readonly status: number; readonly message: string }

/** A message to the worker. */
export interface WorkerRequest<Kind extends keyof WorkerCalls = keyof WorkerCalls> {
  readonly id: number
  readonly kind: Kind
  readonly authorization: string | undefined
  readonly input: WorkerCalls[Kind]['input']
}

/** Cancels a request to the worker, whose output is no longer needed. */
export interface WorkerCancellation {
  readonly canceled: number
}

/** The answer of the worker, or an event that it reports. */
export type WorkerResponse =
  | { readonly event: ClusterEvent }
  | { readonly id: number; readonly output: WorkerCalls[keyof WorkerCalls]['output'] }
  | { readonly id: number; readonly status: number; readonly message: string }
