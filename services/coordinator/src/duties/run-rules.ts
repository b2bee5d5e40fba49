import { type LoadingServer, planClones } from '@svc/domain/loading'
import {
  type RetentionPlan,
  RetentionPlanner,
  type RetentionRun,
  serversThatCannotHold,
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
import {
  type FollowedRules,
  loadCoordinatorConfig,
  type ReportedServers,
  type SegmentInventory,
  type ServerInventory,
} from '../inventory/index.ts'
import type { Duty } from './duty-group.ts'
import { queueRequests, type RequestedCopy, type RequestedLoad, type Requests } from './queue-requests.ts'

/** What the duty works with. */
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
  /** Whether this server leads, and by that term. */
  leads(term: number): boolean
  /** When this server became the leader, in milliseconds of the process's own clock. */
  leadsSinceMs(): number
  /** Which servers of the cluster have reported to this leader. */
  readonly reportedServers: Pick<ReportedServers, 'awaited' | 'reported'>
}

// Segments that are decided at a stretch, some milliseconds of work: other requests are answered in between.
const partSize = 2000
// Requests that are collected before they are sent: the more, the fuller the batches of each server.
const requestsAtOnce = 20_000
// Rows that one statement marks: a transaction must end well within the lease.
const markBatchSize = 5000

/**
 * Reads one snapshot, decides with pure functions, applies: segments are marked unused in the store before their
 * copies are asked away, so that a leader that dies in between leaves nothing that a later one would not finish.
 */
export function runRules(input: RunRulesInput): Duty {
  const { database, clock, logger, redis, queuePrefix, sender, segments, servers, rules } = input
  let epoch: string | undefined
  let toldTiers = ''
  let toldUnplaced = ''
  let toldUnable = ''
  let toldSlow: ReadonlySet<string> = new Set()
  const runsStartedAtMs: number[] = []

  async function checkQueues(): Promise<void> {
    const found = await readQueueEpoch(redis, queuePrefix)
    if (epoch !== undefined && found !== epoch) {
      logger.warn('The queues were lost; what is missing is asked for again', {
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

  /** Copies with segments and servers by their names, of which `names` has those of servers at their numbers. */
  const copiesOf = (
    { rows, servers: numbers }: RetentionPlan['loads'],
    names: readonly (string | undefined)[],
  ) =>
    rows.map((row, index) => ({
      server: names[numbers[index] as number] as string,
      segmentId: table.idOf(row),
      sizeBytes: table.sizeOf[row] as number,
    }))

  /** The plan with segments and servers by their names: their numbers may mean others after a wait. */
  function named(plan: RetentionPlan, names: readonly (string | undefined)[], takesOvershadowed: boolean) {
    return {
      unused: plan.markUnused
        .filter(({ reason }) => takesOvershadowed || reason !== 'overshadowed')
        .flatMap(({ rows }) => rows.map((row) => table.idOf(row))),
      loads: copiesOf(plan.loads, names),
      drops: copiesOf(plan.drops, names),
    }
  }

  /** What brings clones to what the servers that they follow hold, this run included. */
  function clonesOf(parts: ServerParts, { maxLoadsPerServer }: LoadingLimits): Requests {
    const clones = parts.clones.size === 0 ? [] : servers.clones(performance.now(), parts)
    const names: string[] = []
    for (const { target } of clones) names[target.number] = target.name
    const { loads, drops } = planClones(table, clones, maxLoadsPerServer)
    return { loads: copiesOf(loads, names), drops: copiesOf(drops, names) }
  }

  /** Tells once of a server that has had a load in its queue for longer than so many runs. */
  function tellSlowServers(replicantLifetime: number): void {
    runsStartedAtMs.push(performance.now())
    while (runsStartedAtMs.length > replicantLifetime + 1) runsStartedAtMs.shift()
    const [earliest = 0] = runsStartedAtMs
    const queues = servers.queues()
    const isFull = runsStartedAtMs.length > replicantLifetime
    const slow = servers
      .servers()
      .filter(({ number }) => isFull && (queues.get(number)?.oldestLoadAtMs ?? earliest) < earliest)
      .map(({ name }) => name)
    const news = slow.filter((name) => !toldSlow.has(name))
    if (news.length > 0)
      logger.warn('Servers have had loads in their queues for very many runs', {
        servers: news,
        runs: replicantLifetime,
      })
    toldSlow = new Set(slow)
  }

  /** Tells once of servers that broadcast rules want to hold segments and that have no room for any. */
  function tellUnable(currentRules: RulesByName, loadingServers: readonly LoadingServer[]): void {
    const names = serversThatCannotHold(currentRules, loadingServers).map(({ name }) => name)
    const key = names.join()
    if (key !== toldUnable && names.length > 0) {
      logger.warn(
        'Rules broadcast segments to servers that can hold none; they need [svc.segmentCache.locations]',
        {
          servers: names,
        },
      )
    }
    toldUnable = key
  }

  function tellTroubles(run: RetentionRun): void {
    const withoutServers = run.tiersWithoutServers()
    const tiers = JSON.stringify([...withoutServers.keys()])
    if (tiers !== toldTiers && withoutServers.size > 0) {
      logger.warn('Rules name tiers that have no server; their copies are loaded nowhere', {
        tiers: Object.fromEntries(withoutServers),
      })
    }
    toldTiers = tiers
    const unplaced = run.unplaced().filter(({ reason }) => reason === 'noRoom')
    const unplacedKey = JSON.stringify(unplaced.map(({ tier }) => tier))
    if (unplacedKey !== toldUnplaced && unplaced.length > 0) {
      logger.warn('Copies find no room on the servers of their tier', {
        unplaced: unplaced.map(({ exampleRow, ...rest }) => ({
          ...rest,
          exampleSegmentId: table.idOf(exampleRow),
        })),
      })
    }
    toldUnplaced = unplacedKey
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
      const leads = () => input.leads(term)
      // While it waited, this server may have lost the lead, and may have it again by another term.
      if (!leads()) return undefined
      const { requestTimeoutMs } = input
      const { replicateAfterLoadTimeout } = config
      for (const server of servers.expire(performance.now(), requestTimeoutMs, replicateAfterLoadTimeout)) {
        logger.warn('A server went silent; its copies no longer count', { silentServer: server })
      }
      if (config.pauseCoordination) return undefined
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
      const stamp = { term, leads, turbo: new Set(config.turboLoadingNodes) }
      const leadsLongEnough = performance.now() - input.leadsSinceMs() >= overshadowedWaitMs(config)
      const done = { loads: 0, drops: 0, markedUnused: 0 }
      let requests = noRequests()
      const sendRequests = async (): Promise<void> => {
        const sent = requests
        requests = noRequests()
        const queued = await queueRequests(sent, stamp, database, servers, sender)
        done.loads += queued.loads
        done.drops += queued.drops
      }
      for (let part = run.next(partSize); part !== undefined; part = run.next(partSize)) {
        const { unused, loads, drops } = named(part, names, leadsLongEnough)
        done.markedUnused += await markAll(unused, term)
        // One by one: a broadcast rule may lead to more of them than a call takes arguments.
        for (const load of loads) requests.loads.push(load)
        for (const drop of drops) requests.drops.push(drop)
        if (requests.loads.length + requests.drops.length >= requestsAtOnce) await sendRequests()
        await breathe()
        if (!leads()) return undefined
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
      tellTroubles(run)
      tellUnable(currentRules, loadingServers)
      tellSlowServers(config.replicantLifetime)
      if (done.loads + done.drops + done.markedUnused + moved.loads === 0) return undefined
      return moved.loads > 0 ? { ...done, moves: moved.loads } : done
    },
  }
}

const noRequests = (): { loads: RequestedLoad[]; drops: RequestedCopy[] } => ({ loads: [], drops: [] })

const breathe = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
