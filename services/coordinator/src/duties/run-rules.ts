import { type LoadingServer, planClones } from '@svc/domain/loading'
import {
  type RetentionPlan,
  RetentionPlanner,
  type RetentionRun,
  serversThatCannotHold,
  type UnusedSegments,
} from '@svc/domain/retention'
import type { RulesByName } from '@svc/domain/rules'
import {
  type LoadingLimits,
  loadingLimitsOf,
  overshadowedWaitMs,
  type ServerParts,
  serverPartsOf,
} from '@svc/shared/coordinator-config'
import { assertLeads, type Database, markUnused } from '@svc/shared/postgres'
import { type QueueConnection, type RequestSender, readQueueEpoch } from '@svc/shared/redis'
import type { Clock, Logger } from '@svc/shared/runtime'
import { type ClusterStateTracker, describeShortages } from '../cluster-state/index.ts'
import {
  type FollowedRules,
  loadCoordinatorConfig,
  type ReportedServers,
  type SegmentInventory,
  type ServerInventory,
} from '../inventory/index.ts'
import type { Duty } from './duty-group.ts'
import { queueRequests, type RequestedCopy, type RequestedLoad, type Requests } from './queue-requests.ts'

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
  /** Whether this server is the leader under that term. */
  isLeader(term: number): boolean
  /** When this server became the leader, in milliseconds of the monotonic clock of this process. */
  leaderSinceMs(): number
  /** Records what complete runs did. */
  readonly clusterState: Pick<ClusterStateTracker, 'beginRun'>
  /** Which servers of the cluster have reported to this leader. */
  readonly reportedServers: Pick<ReportedServers, 'awaited' | 'reported'>
}

// Segments per part, which takes a few milliseconds. Other requests run between parts.
const partSize = 2000
// Requests to collect before sending them. A higher number fills the batches of each server better.
const requestsAtOnce = 20_000
// Rows per statement. A transaction must end well within the lease.
const markBatchSize = 5000

/**
 * Creates the duty that applies the retention rules. It reads one snapshot, decides with pure functions, and applies the
 * result. It marks segments as unused in the store before it drops their replicas, so that if the leader dies in between,
 * the next leader completes the work.
 */
export function runRules(input: RunRulesInput): Duty {
  const { database, clock, logger, redis, queuePrefix, sender, segments, servers, rules } = input
  let epoch: string | undefined
  let warnedTiers = ''
  let warnedUnplaced = ''
  let warnedUnableServers = ''
  let warnedServers: ReadonlySet<string> = new Set()
  const runsStartedAtMs: number[] = []

  async function checkQueues(): Promise<void> {
    const found = await readQueueEpoch(redis, queuePrefix)
    if (epoch !== undefined && found !== epoch) {
      logger.warn('Queues were lost; requesting missing segments again', {
        requests: servers.voidAsked(),
      })
    }
    epoch = found
  }

  async function markAll(ids: readonly string[], term: number): Promise<number> {
    let marked = 0
    for (let start = 0; start < ids.length; start += markBatchSize) {
      marked += await database.transaction(async (transaction) => {
        await assertLeads(transaction, 'coordinator', term)
        return await markUnused(transaction, ids.slice(start, start + markBatchSize), clock.now())
      })
    }
    return marked
  }

  const { table } = segments
  const planner = new RetentionPlanner(table)

  /** Returns replicas with segment IDs and server names. `names` has the names of the servers at their numbers. */
  const copiesOf = (
    { rows, servers: numbers }: RetentionPlan['loads'],
    names: readonly (string | undefined)[],
  ) =>
    rows.map((row, index) => ({
      server: names[numbers[index] as number] as string,
      segmentId: table.idOf(row),
      sizeBytes: table.sizeOf[row] as number,
    }))

  /** Returns the plan with segment IDs and server names, because numbers may be reused while this duty waits. */
  function named(plan: RetentionPlan, names: readonly (string | undefined)[], takesOvershadowed: boolean) {
    const isWaiting = ({ reason }: UnusedSegments) => reason === 'overshadowed' && !takesOvershadowed
    const waiting = plan.markUnused.filter(isWaiting)
    return {
      unused: plan.markUnused
        .filter((segments) => !isWaiting(segments))
        .flatMap(({ rows }) => rows.map((row) => table.idOf(row))),
      waiting: waiting.reduce((sum, { rows }) => sum + rows.length, 0),
      loads: copiesOf(plan.loads, names),
      drops: copiesOf(plan.drops, names),
    }
  }

  /** Returns the requests that make clones match their source servers, including the requests of this run. */
  function clonesOf(parts: ServerParts, { maxLoadsPerServer }: LoadingLimits): Requests {
    const clones = parts.clones.size === 0 ? [] : servers.clones(performance.now(), parts)
    const names: string[] = []
    for (const { target } of clones) names[target.number] = target.name
    const { loads, drops } = planClones(table, clones, maxLoadsPerServer)
    return { loads: copiesOf(loads, names), drops: copiesOf(drops, names) }
  }

  /** Warns once about a server that has had a load in its queue for more than `replicantLifetime` runs. */
  function warnStuckQueues(replicantLifetime: number): void {
    runsStartedAtMs.push(performance.now())
    while (runsStartedAtMs.length > replicantLifetime + 1) runsStartedAtMs.shift()
    const [earliest = 0] = runsStartedAtMs
    const queues = servers.queues()
    const isFull = runsStartedAtMs.length > replicantLifetime
    const slow = servers
      .servers()
      .filter(({ number }) => isFull && (queues.get(number)?.oldestLoadAtMs ?? earliest) < earliest)
      .map(({ name }) => name)
    const news = slow.filter((name) => !warnedServers.has(name))
    if (news.length > 0)
      logger.warn('Load queues are stuck', {
        servers: news,
        runs: replicantLifetime,
      })
    warnedServers = new Set(slow)
  }

  /** Warns once about servers that cannot hold the segments that broadcast rules assign to them. */
  function warnUnableServers(currentRules: RulesByName, loadingServers: readonly LoadingServer[]): void {
    const names = serversThatCannotHold(currentRules, loadingServers).map(({ name }) => name)
    const key = names.join()
    if (key !== warnedUnableServers && names.length > 0) {
      logger.warn(
        'Rules broadcast segments to servers without a segment cache; set [svc.segmentCache.locations] on them',
        {
          servers: names,
        },
      )
    }
    warnedUnableServers = key
  }

  /** Warns once about replicas that the servers cannot have. Returns all of them, in sentences. */
  function warnTroubles(run: RetentionRun): string[] {
    const withoutServers = run.tiersWithoutServers()
    const tiers = JSON.stringify([...withoutServers.keys()])
    if (tiers !== warnedTiers && withoutServers.size > 0) {
      logger.warn('Rules reference tiers without servers', {
        tiers: Object.fromEntries(withoutServers),
      })
    }
    warnedTiers = tiers
    const allUnplaced = run.unplaced()
    const unplaced = allUnplaced.filter(({ reason }) => reason === 'noRoom')
    const unplacedKey = JSON.stringify(unplaced.map(({ tier }) => tier))
    if (unplacedKey !== warnedUnplaced && unplaced.length > 0) {
      logger.warn('Not enough capacity in tier', {
        unplaced: unplaced.map(({ exampleRow, ...rest }) => ({
          ...rest,
          exampleSegmentId: table.idOf(exampleRow),
        })),
      })
    }
    warnedUnplaced = unplacedKey
    return describeShortages(allUnplaced, withoutServers)
  }

  return {
    name: 'runRules',
    run: async (term) => {
      await input.reportedServers.reported()
      await checkQueues()
      const [currentRules, config] = await Promise.all([
        rules.current(),
        loadCoordinatorConfig(database),
        segments.refresh(),
      ])
      const isLeader = () => input.isLeader(term)
      // This server may have lost leadership while it waited, and may be the leader again under another term.
      if (!isLeader()) return undefined
      const { requestTimeoutMs } = input
      const { replicateAfterLoadTimeout } = config
      for (const server of servers.expire(performance.now(), requestTimeoutMs, replicateAfterLoadTimeout)) {
        logger.warn('Server missed its heartbeats; ignoring its replicas', { silentServer: server })
      }
      if (config.pauseCoordination) return undefined
      const endRun = input.clusterState.beginRun({ rules: currentRules, config })
      const parts = serverPartsOf(config)
      const loadingServers = servers.loadingServers(performance.now(), parts)
      const limits = loadingLimitsOf(config, table.usedCount, loadingServers.length)
      const names: string[] = []
      for (const { number, name } of loadingServers) names[number] = name
      const run = planner.begin({
        now: clock.now(),
        rules: currentRules,
        servers: [...loadingServers, ...servers.unknownServers(input.reportedServers.awaited())],
        limits,
      })
      const stamp = { term, isLeader, turbo: new Set(config.turboLoadingNodes) }
      const hasLedLongEnough = performance.now() - input.leaderSinceMs() >= overshadowedWaitMs(config)
      const done = { loads: 0, drops: 0, markedUnused: 0 }
      let waitingOvershadowed = 0
      let requests = noRequests()
      const sendRequests = async (): Promise<void> => {
        const sent = requests
        requests = noRequests()
        const queued = await queueRequests(sent, stamp, database, servers, sender)
        done.loads += queued.loads
        done.drops += queued.drops
      }
      for (let part = run.next(partSize); part !== undefined; part = run.next(partSize)) {
        const { unused, waiting, loads, drops } = named(part, names, hasLedLongEnough)
        waitingOvershadowed += waiting
        done.markedUnused += await markAll(unused, term)
        // Push one by one, because a broadcast rule may produce more requests than a call can take as arguments.
        for (const load of loads) requests.loads.push(load)
        for (const drop of drops) requests.drops.push(drop)
        if (requests.loads.length + requests.drops.length >= requestsAtOnce) await sendRequests()
        await yieldToEventLoop()
        if (!isLeader()) return undefined
      }
      await sendRequests()
      const { rows, from, to } = run.moves(limits.maxSegmentsToMove)
      const moves = copiesOf({ rows, servers: to }, names).map((copy, index) => ({
        ...copy,
        replaces: names[from[index] as number] as string,
      }))
      const moved = await queueRequests({ loads: moves, drops: [] }, stamp, database, servers, sender)
      const cloned = await queueRequests(clonesOf(parts, limits), stamp, database, servers, sender)
      done.loads += cloned.loads
      done.drops += cloned.drops
      const shortages = warnTroubles(run)
      warnUnableServers(currentRules, loadingServers)
      warnStuckQueues(config.replicantLifetime)
      const hasChanged = done.loads + done.drops + done.markedUnused + moved.loads > 0
      endRun({ hasChanged, waitingOvershadowed, shortages })
      if (!hasChanged) return undefined
      return moved.loads > 0 ? { ...done, moves: moved.loads } : done
    },
  }
}

const noRequests = (): { loads: RequestedLoad[]; drops: RequestedCopy[] } => ({ loads: [], drops: [] })

const yieldToEventLoop = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
