import { planRetention, type UnusedSegment } from '@svc/domain/retention'
import { assertLeads, type Database, loadConfig, markUnused } from '@svc/shared/postgres'
import { type QueueConnection, type RequestSender, readQueueEpoch } from '@svc/shared/redis'
import type { Clock, Logger } from '@svc/shared/runtime'
import { coordinatorConfigName, readCoordinatorConfig } from '../coordinator-config.ts'
import type { FollowedRules } from '../followed-rules.ts'
import type { SegmentInventory, ServerInventory } from '../inventory/index.ts'
import { queueRequests } from '../load-queue.ts'
import type { Duty } from './duty-group.ts'

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
  /** Resolves when the servers of the cluster have reported to this leader, or have had the time to. */
  serversReported(): Promise<void>
}

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

  async function checkQueues(): Promise<void> {
    const found = await readQueueEpoch(redis, queuePrefix)
    if (epoch !== undefined && found !== epoch) {
      logger.warn('The queues were lost; what is missing is asked for again', {
        requests: servers.forgetAsked(),
      })
    }
    epoch = found
  }

  async function markAll(unused: readonly UnusedSegment[], term: number): Promise<number> {
    let marked = 0
    for (let start = 0; start < unused.length; start += markBatchSize) {
      const ids = unused.slice(start, start + markBatchSize).map(({ id }) => id)
      marked += await database.transaction(async (transaction) => {
        await assertLeads(transaction, 'coordinator', term)
        return await markUnused(transaction, ids, clock.now())
      })
    }
    return marked
  }

  return {
    name: 'runRules',
    run: async (term) => {
      await input.serversReported()
      await checkQueues()
      for (const server of servers.expire(performance.now(), input.requestTimeoutMs)) {
        logger.warn('A server went silent; its copies no longer count', { silentServer: server })
      }
      const [currentRules, config] = await Promise.all([
        rules.current(),
        loadConfig(database, coordinatorConfigName).then(readCoordinatorConfig),
        segments.refresh(),
      ])
      if (config.pauseCoordination) return undefined
      const plan = planRetention({
        now: clock.now(),
        datasources: segments.datasources(),
        rules: currentRules,
        servers: servers.loadingServers(performance.now(), new Set(config.decommissioningNodes)),
        limits: {
          maxLoadsPerServer: config.maxSegmentsInNodeLoadingQueue || Number.POSITIVE_INFINITY,
          replicationThrottleLimit: config.replicationThrottleLimit,
        },
        isUsed: segments.isUsed,
      })
      const tiers = JSON.stringify([...plan.tiersWithoutServers.keys()])
      if (tiers !== toldTiers && plan.tiersWithoutServers.size > 0) {
        logger.warn('Rules name tiers that have no server; their copies are loaded nowhere', {
          tiers: Object.fromEntries(plan.tiersWithoutServers),
        })
      }
      toldTiers = tiers
      const unplaced = plan.unplaced.filter(({ reason }) => reason === 'noRoom')
      const unplacedKey = JSON.stringify(unplaced.map(({ tier }) => tier))
      if (unplacedKey !== toldUnplaced && unplaced.length > 0) {
        logger.warn('Copies find no room on the servers of their tier', { unplaced })
      }
      toldUnplaced = unplacedKey
      const marked = await markAll(plan.markUnused, term)
      const queued = await queueRequests(plan, term, database, servers, sender)
      return queued.loads + queued.drops + marked > 0 ? { ...queued, markedUnused: marked } : undefined
    },
  }
}
