import type { SegmentTable } from '../inventory/index.ts'
import type { LoadingServer, PlanLimits, ServerClone, Unplaced } from '../loading/index.ts'
import type { RulesByName } from '../rules/index.ts'

/** A failed load of a segment. */
export interface LoadFailure {
  readonly error: string
  /** When the server reported the failure, in epoch milliseconds. */
  readonly at: number
  /** When the load may be requested from the server again, in epoch milliseconds. */
  readonly retryAt: number
}

/** The state of the cluster that explanations read, as the leader knows it. */
export interface ExplainedCluster {
  readonly table: SegmentTable
  readonly rules: RulesByName
  /** The servers without clones. */
  readonly servers: readonly LoadingServer[]
  readonly clones: readonly NamedClone[]
  readonly limits: PlanLimits
  /** The cluster's time in epoch milliseconds. */
  readonly now: number
  /** Whether coordination is paused. */
  readonly isPaused: boolean
  /** Names of historicals whose segments the leader does not know yet. */
  readonly awaited: readonly string[]
  /** Replicas that the last run could not assign. */
  readonly lastUnplaced: readonly Unplaced[]
  /** Returns the last failure of a server, given by number, to load a segment, if it may not be requested again yet. */
  failureOf(server: number, segmentId: string): LoadFailure | undefined
}

/** A server that copies the segments of another one, with the name of the other one. */
export interface NamedClone extends ServerClone {
  readonly sourceName: string
}

/** Why a server that does not have a segment cannot load it now. */
export type ServerObstacle = 'loadFailed' | 'noSpace' | 'queueFull' | 'decommissioning' | 'clone'

/** Why a segment does not have all its replicas, or why it has none. These codes are stable. */
export type CauseCode =
  | Exclude<ServerObstacle, 'decommissioning' | 'clone'>
  /** A server must drop its replica before it can load one. */
  | 'beingDropped'
  /** A drop rule applies. */
  | 'dropRule'
  /** A rule applies that loads no replicas. */
  | 'noReplicas'
  | 'overshadowed'
  | 'tierWithoutServers'
  /** The rule requires more replicas in a tier than it has servers. */
  | 'tooFewServers'
  /** All servers of a tier are decommissioning. */
  | 'allDecommissioning'
  /** The last run assigned as many additional replicas in the tier as it may. */
  | 'replicationThrottled'
  /** A replica is in the load queue of a server. */
  | 'loading'
  /** The next run assigns the replica. */
  | 'nextRun'
  | 'paused'
  /** The leader is waiting for reports from servers. */
  | 'serversUnknown'

/** One cause, in a sentence. */
export interface Cause {
  readonly code: CauseCode
  readonly tier?: string
  readonly text: string
}

/** What a server has to do with a segment. */
export interface ServerFinding {
  readonly server: string
  readonly tier: string
  readonly state: 'serves' | 'loads' | 'drops' | 'canLoad' | 'cannotLoad'
  readonly obstacle?: ServerObstacle
  readonly text: string
  /** The last failure, until the load may be requested again. */
  readonly failure?: LoadFailure
}

/** Number of servers without a segment by whether they can load it, must drop it first, or why they cannot load it. */
export type Candidates = Readonly<Partial<Record<ServerObstacle | 'beingDropped' | 'canLoad', number>>>

/** The replicas of a segment in one tier. */
export interface TierFinding {
  readonly tier: string
  /** Replicas that the rule requires; 0 for a tier that it does not name. */
  readonly required: number
  readonly served: number
  readonly loading: number
  readonly dropping: number
  /** Replicas that decommissioning servers serve until others have them. */
  readonly leaving: number
  /** Historicals of the tier, and those of them that are not decommissioning. */
  readonly servers: number
  readonly activeServers: number
  readonly candidates: Candidates
}

/** Something that will happen to a segment. */
export interface NextEvent {
  readonly code: 'load' | 'cancelLoad' | 'drop' | 'markUnused' | 'retry' | 'ruleChange'
  /** In epoch milliseconds; undefined for the next run. */
  readonly at?: number
  readonly text: string
}
