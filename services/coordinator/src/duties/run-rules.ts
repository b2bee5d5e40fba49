import type { SegmentTable } from '@svc/domain/inventory'
import { type LoadingServer, type MoveList, planClones } from '@svc/domain/loading'
import { RetentionPlanner, type RetentionRun } from '@svc/domain/retention'
import {
  type CoordinatorConfig,
  type LoadingLimits,
  loadingLimitsOf,
  overshadowedWaitMs,
  type ServerParts,
  serverPartsOf,
} from '@svc/shared/coordinator-dynamic-config'
import type { Duty } from '@svc/shared/duties'
import type { Database } from '@svc/shared/postgres'
import { type QueueConnection, type RequestSender, readQueueEpoch } from '@svc/shared/redis'
import type { Clock, Logger } from '@svc/shared/runtime'
import { finishInBackground } from '@svc/shared/slices'
import { type ClusterStateTracker, shortagesOf } from '../cluster-state/index.ts'
import {
  type FollowedRules,
  loadCoordinatorConfig,
  type ReportedServers,
  type SegmentInventory,
  type ServerInventory,
} from '../inventory/index.ts'
import { addQueued, applyDecisions, copiesOf } from './apply-decisions.ts'
import { queueRequests, type RequestedLoad, type RequestStamp, type Requests } from './queue-requests.ts'
import type { RequestJournal } from './request-journal.ts'
import { createRunWarnings } from './warn-after-run.ts'

/** Dependencies of the duty. */
export interface RunRulesInput {
  readonly database: Database
  readonly clock: Clock
  readonly logger: Logger
  readonly redis: QueueConnection
  readonly queuePrefix: string
  readonly sender: RequestSender
  readonly segments: SegmentInventory
  readonly servers: ServerInventory
  readonly rules: FollowedRules
  readonly requestTimeoutMs: number
  /** Whether a new leader waits for Druid's default time before it marks overshadowed segments as unused. */
  readonly waitsByDefault: boolean
  /** Whether this server is the leader under that term. */
  isLeader(term: number): boolean
  /** When this server became the leader, in milliseconds of the monotonic clock of this process. */
  leaderSinceMs(): number
  /** Records what complete runs did. */
  readonly clusterState: Pick<ClusterStateTracker, 'beginRun'>
  /** Which servers of the cluster have reported to this leader. */
  readonly reportedServers: Pick<ReportedServers, 'awaited' | 'reported'>
  /** Records the requests of each run. */
  readonly requestJournal: RequestJournal
}

/**
 * Creates the duty that applies the retention rules. It reads one snapshot, decides with pure functions, and applies the
 * result. It marks segments as unused in the store before it drops their replicas, so that if the leader dies in between,
 * the next leader completes the work.
 */
export function runRules(input: RunRulesInput): Duty {
  const { database, clock, logger, segments, servers, requestJournal } = input
  const { table } = segments
  const planner = new RetentionPlanner(table)
  const checkQueues = createQueueCheck(input)
  const warnAfterRun = createRunWarnings(logger, servers, table)
  return {
    name: 'runRules',
    requestsOf: (startMs, endMs) => requestJournal.between(startMs, endMs),
    run: async (term) => {
      requestJournal.begin(performance.now())
      await input.reportedServers.reported()
      await checkQueues()
      const [snapshot, config] = await Promise.all([
        input.rules.snapshot(),
        loadCoordinatorConfig(database),
        segments.refresh(),
      ])
      const isLeader = () => input.isLeader(term)
      // This server may have lost leadership while it waited, and may be the leader again under another term.
      if (!isLeader()) return undefined
      expireServers(input, config)
      if (config.pauseCoordination) return undefined
      const { rules } = snapshot
      const endRun = input.clusterState.beginRun({ rules, config })
      const parts = serverPartsOf(config)
      const loadingServers = servers.loadingServers(performance.now(), parts)
      const limits = loadingLimitsOf(config, table.usedCount, loadingServers.length)
      const names = namesByNumber(loadingServers)
      const run = planner.begin({
        now: clock.now(),
        rules,
        servers: [...loadingServers, ...servers.unreportedServers(input.reportedServers.awaited())],
        limits,
      })
      const stamp: RequestStamp = {
        term,
        isLeader,
        turbo: new Set(config.turboLoadingNodes),
        onSent: (requests, retried) => requestJournal.noteSent(requests, retried),
      }
      const queue = createQueue(input, stamp)
      const waitMs = overshadowedWaitMs(config, input.waitsByDefault)
      const leftMs = waitMs - (performance.now() - input.leaderSinceMs())
      const applied = await applyDecisions(
        { database, clock, table, rules: snapshot, queue },
        run,
        names,
        stamp,
        leftMs <= 0,
      )
      if (applied === undefined) return undefined
      const { done } = applied
      const waitingOvershadowed =
        applied.waitingOvershadowed === 0
          ? undefined
          : { count: applied.waitingOvershadowed, untilMs: Math.ceil(Date.now() + leftMs) }
      const moved = await queue(await planMoves(table, run, limits.maxSegmentsToMove, names))
      addQueued(done, await queue(clonesOf(input, parts, limits)))
      warnAfterRun({ run, rules, loadingServers, replicantLifetime: config.replicantLifetime })
      const all = { ...done, moves: moved.loads }
      endRun({ done: all, waitingOvershadowed, shortages: shortagesOf(run) })
      if (all.loads + all.drops + all.moves + all.markedUnused === 0) return undefined
      return moved.loads > 0 ? all : done
    },
  }
}

/** Returns a function that queues requests for their servers, and records them. */
const createQueue =
  ({ database, servers, sender, requestJournal }: RunRulesInput, stamp: RequestStamp) =>
  (requests: Requests) => {
    requestJournal.noteDecided(requests.loads.length + requests.drops.length)
    return queueRequests(requests, stamp, database, servers, sender)
  }

/** Returns a function that requests everything again if the queues were lost since its last call. */
function createQueueCheck({
  redis,
  queuePrefix,
  logger,
  servers,
}: Pick<RunRulesInput, 'redis' | 'queuePrefix' | 'logger' | 'servers'>): () => Promise<void> {
  let epoch: string | undefined
  return async () => {
    const found = await readQueueEpoch(redis, queuePrefix)
    if (epoch !== undefined && found !== epoch) {
      logger.warn('Queues were lost; requesting missing segments again', {
        requests: servers.voidPending(),
      })
    }
    epoch = found
  }
}

/** Forgets the replicas of servers that have stopped reporting. */
function expireServers(
  { servers, logger, requestTimeoutMs }: Pick<RunRulesInput, 'servers' | 'logger' | 'requestTimeoutMs'>,
  { replicateAfterLoadTimeout }: Pick<CoordinatorConfig, 'replicateAfterLoadTimeout'>,
): void {
  for (const server of servers.expire(performance.now(), requestTimeoutMs, replicateAfterLoadTimeout)) {
    logger.warn('Server missed its heartbeats; ignoring its replicas', { silentServer: server })
  }
}

function namesByNumber(servers: readonly Pick<LoadingServer, 'number' | 'name'>[]): string[] {
  const names: string[] = []
  for (const { number, name } of servers) names[number] = name
  return names
}

/** Plans the moves of a run in the background, because it takes long and nothing waits for it. */
async function planMoves(
  table: SegmentTable,
  run: Pick<RetentionRun, 'moves'>,
  maxSegmentsToMove: number,
  names: readonly string[],
): Promise<Requests> {
  function* steps(): Generator<undefined, Requests> {
    const lists = run.moves(maxSegmentsToMove)
    const loads: RequestedLoad[] = []
    for (;;) {
      const { value, done } = lists.next()
      // Before anything waits, because numbers of rows may be reused.
      loads.push(...movesOf(table, value, names))
      if (done) return { loads, drops: [] }
      yield
    }
  }
  return await finishInBackground(steps(), () => false)
}

const movesOf = (
  table: SegmentTable,
  { rows, from, to }: MoveList,
  names: readonly string[],
): RequestedLoad[] =>
  copiesOf(table, { rows, servers: to }, names).map((copy, index) => ({
    ...copy,
    replaces: names[from[index] as number] as string,
  }))

/** Returns the requests that make clones match their source servers, including the requests of this run. */
function clonesOf(
  { servers, segments: { table } }: Pick<RunRulesInput, 'servers' | 'segments'>,
  parts: ServerParts,
  { maxLoadsPerServer }: LoadingLimits,
): Requests {
  const clones = parts.clones.size === 0 ? [] : servers.clones(performance.now(), parts)
  const names = namesByNumber(clones.map(({ target }) => target))
  const { loads, drops } = planClones(table, clones, maxLoadsPerServer)
  return { loads: copiesOf(table, loads, names), drops: copiesOf(table, drops, names) }
}
