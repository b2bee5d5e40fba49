import type { SegmentTable } from '@svc/domain/inventory'
import type { LoadingServer } from '@svc/domain/loading'
import { type RetentionRun, serversWithoutStorage } from '@svc/domain/retention'
import type { RulesByName } from '@svc/domain/rules'
import type { Logger } from '@svc/shared/runtime'
import type { ServerInventory } from '../inventory/index.ts'
import { ChangeNotice } from './change-notice.ts'

// Rules may name thousands of tiers.
const maxLoggedTiers = 20

/** A run of the rules that has been applied. */
interface AppliedRun {
  readonly run: RetentionRun
  readonly rules: RulesByName
  readonly loadingServers: readonly LoadingServer[]
  /** Number of runs after which a queue with the same load is stuck. */
  readonly replicantLifetime: number
}

/** Returns a function that warns about what a run could not do, once for each problem. */
export function createRunWarnings(
  logger: Pick<Logger, 'warn'>,
  servers: Pick<ServerInventory, 'queues' | 'servers'>,
  table: Pick<SegmentTable, 'idOf'>,
): (applied: AppliedRun) => void {
  const warnStuckQueues = createStuckQueueWarning(logger, servers)
  const tiers = new ChangeNotice()
  const fullTiers = new ChangeNotice()
  const unableServers = new ChangeNotice()
  return ({ run, rules, loadingServers, replicantLifetime }) => {
    const withoutServers = run.tiersWithoutServers()
    if (tiers.changes([...withoutServers.keys()]))
      logger.warn('Rules reference tiers without servers', {
        tiers: Object.fromEntries([...withoutServers].slice(0, maxLoggedTiers)),
        tierCount: withoutServers.size,
      })
    const unplaced = run.unplaced().filter(({ reason }) => reason === 'noRoom')
    if (fullTiers.changes(unplaced.map(({ tier }) => tier))) {
      logger.warn('Not enough capacity in tier', {
        unplaced: unplaced.map(({ tier, reason, copies, exampleRow }) => ({
          tier,
          reason,
          copies,
          exampleSegmentId: table.idOf(exampleRow),
        })),
      })
    }
    const unable = serversWithoutStorage(rules, loadingServers).map(({ name }) => name)
    if (unableServers.changes(unable)) {
      logger.warn(
        'Rules broadcast segments to servers without a segment cache; set [svc.segmentCache.locations] on these servers',
        { servers: unable },
      )
    }
    warnStuckQueues(replicantLifetime)
  }
}

/** Returns a function that warns about servers that have had a load in their queue for more than `replicantLifetime` runs. */
function createStuckQueueWarning(
  logger: Pick<Logger, 'warn'>,
  servers: Pick<ServerInventory, 'queues' | 'servers'>,
): (replicantLifetime: number) => void {
  const runsStartedAtMs: number[] = []
  const stuckServers = new ChangeNotice()
  return (replicantLifetime) => {
    runsStartedAtMs.push(performance.now())
    while (runsStartedAtMs.length > replicantLifetime + 1) runsStartedAtMs.shift()
    const [earliest = 0] = runsStartedAtMs
    const queues = servers.queues()
    const isFull = runsStartedAtMs.length > replicantLifetime
    const slow = servers
      .servers()
      .filter(({ number }) => isFull && (queues.get(number)?.oldestLoadAtMs ?? earliest) < earliest)
      .map(({ name }) => name)
    const news = stuckServers.added(slow)
    if (news.length > 0) logger.warn('Load queues are stuck', { servers: news, runs: replicantLifetime })
  }
}
