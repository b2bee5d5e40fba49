import type { SegmentTable } from '../inventory/index.ts'
import type { LoadRate } from '../load-time/index.ts'
import type { LoadingServer, PlanLimits, ServerClone, UnreportedServer } from '../loading/index.ts'
import type { RulesByName } from '../rules/index.ts'

/** The failed loads of a segment on one server, until it loads the segment. */
export interface LoadFailure {
  /** Number of failures. */
  readonly failures: number
  /** The last error. */
  readonly error: string
  /** When the server reported the last failure, in epoch milliseconds. */
  readonly at: number
  /** Whether the load may not be requested again yet. */
  readonly isResting: boolean
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
  /** Whether the caller may know how many replicas of segments of other datasources are queued or wait. */
  readonly seesCluster: boolean
  /** Historicals whose segments the leader does not know yet. */
  readonly awaited: readonly UnreportedServer[]
  /** Names of servers that the configuration expects and that have not announced themselves, so nothing else is known about them. */
  readonly unannounced: readonly string[]
  /** Historicals that stopped reporting. */
  readonly lost: readonly LostServer[]
  /** The time from which runs mark overshadowed segments as unused, in epoch milliseconds; undefined if the next run does. */
  readonly overshadowedWaitUntil: number | undefined
  /** When the next run starts: in epoch milliseconds, and in milliseconds from now. */
  readonly nextRun: { readonly at: number; readonly inMs: number }
  /** Returns the failures of a server, given by number, to load a segment, given by row, since it last loaded it. */
  failureOf(server: number, row: number): LoadFailure | undefined
  /** Returns how long a server, given by name, takes for a load; undefined if it has not been measured. */
  rateOf(server: string): LoadRate | undefined
}

/** A historical that stopped reporting. */
export interface LostServer {
  readonly name: string
  readonly tier: string
  /** When its last report arrived, in epoch milliseconds. */
  readonly lastSeenAt: number
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
  /** The next run assigns as many additional replicas in the tier as it may to other segments. */
  | 'replicationThrottled'
  /** The next run uses the queues or the space of the tier for segments that come first. */
  | 'behindOthers'
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
  /** `unknown`: the server has not reported its segments, or stopped reporting. */
  readonly state: 'serves' | 'loads' | 'drops' | 'canLoad' | 'cannotLoad' | 'unknown'
  readonly obstacle?: ServerObstacle
  readonly text: string
  /** Its failures to load the segment since it last loaded it. */
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
  /** Servers that failed to load the segment and do not have it. */
  readonly failedServers: number
  readonly candidates: Candidates
}

/** Something that will happen to a segment. */
export interface NextEvent {
  readonly code: 'load' | 'loaded' | 'wait' | 'cancelLoad' | 'drop' | 'markUnused' | 'retry' | 'ruleChange'
  /** When it happens, in epoch milliseconds; undefined if that is not known. */
  readonly at?: number
  readonly text: string
  /** The position in the load queue of a server or among the replicas of a tier that wait for later runs, starting at 1, and when the load is expected to end, in epoch milliseconds. */
  readonly place?: number
  readonly doneAt?: number
}
