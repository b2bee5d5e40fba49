import { type CompactionPlanner, createCompactionPlanner, followCompaction } from '@svc/shared/compaction'
import type { Election } from '@svc/shared/discovery'
import type { Route } from '@svc/shared/http'
import { countTableChanges, ensureDefaultRules, keepInitialState } from '@svc/shared/postgres'
import { createRequestSender, openProducerConnection } from '@svc/shared/redis'
import type { Loop } from '@svc/shared/runtime'
import { segmentMarkingRoutes } from '@svc/shared/segment-marking'
import { runService, type ServiceContext, type ServicePart, standForElection } from '@svc/shared/service'
import { createChangeFeed, createInventories } from './change-stream/index.ts'
import { type ClusterStateTracker, trackClusterState } from './cluster-state/index.ts'
import type { ClusterView } from './cluster-view.ts'
import { countCopyChanges, registerCoordinatorMetrics } from './coordinator-metrics.ts'
import { createDutyGroups, type DutyGroups, RequestJournal } from './duties/index.ts'
import { callsRoute } from './endpoints/calls.ts'
import { certificatesRoute } from './endpoints/certificates.ts'
import { changesRoute } from './endpoints/changes.ts'
import { clockAndDutyRunRoutes } from './endpoints/clock-and-duty-runs.ts'
import { clusterRoutes } from './endpoints/cluster.ts'
import { clusterIdRoute, clusterStateRoute } from './endpoints/cluster-state.ts'
import { compactionConfigRoutes } from './endpoints/compaction-config.ts'
import { compactionStatusRoutes } from './endpoints/compaction-status.ts'
import { datasourceRoutes } from './endpoints/datasources.ts'
import { dynamicConfigRoutes } from './endpoints/dynamic-config.ts'
import { explainRoutes } from './endpoints/explain.ts'
import { faultRoutes } from './endpoints/faults.ts'
import { internalRoutes } from './endpoints/internal.ts'
import { inventoryRoute } from './endpoints/inventory.ts'
import { killIntervalRoute } from './endpoints/kill-interval.ts'
import { markKeptUsedRoute } from './endpoints/mark-kept-used.ts'
import { metadataRoutes } from './endpoints/metadata.ts'
import { previewRulesRoutes } from './endpoints/preview-rules.ts'
import { createRuleLists, firstDefaultRules, ruleHistoryRoutes, rulesRoutes } from './endpoints/rules.ts'
import { createRulesGuard } from './endpoints/rules-guard.ts'
import { securityRoutes } from './endpoints/security/index.ts'
import { serverProblemsRoute } from './endpoints/server-problems.ts'
import { serverRoutes } from './endpoints/servers.ts'
import { createExplanations, type Explanations } from './explanation/index.ts'
import {
  createLoadMeter,
  createSegmentInventory,
  followAsStandby,
  followCoordinatorConfig,
  followRules,
  type LoadMeter,
  type SegmentInventory,
  ServerInventory,
  watchReported,
} from './inventory/index.ts'
import { atLeader, createLeadership } from './leadership/index.ts'
import { createPreviews } from './preview/index.ts'
import { createFirstUsers, createUsersFollowers, type UsersFollowers } from './users/index.ts'

/** The view with the entire context; each endpoint takes the parts that it needs. */
type CoordinatorView = ClusterView & { readonly context: ServiceContext }

function buildCoordinator(context: ServiceContext): ServicePart {
  const { settings, database } = context
  const leadership = createLeadership()
  const changes = countTableChanges(database)
  const segments = createSegmentInventory(database, undefined, undefined, changes)
  const rules = followRules(database)
  const loadMeter = createLoadMeter(database, context.logger)
  const requestJournal = new RequestJournal()
  const servers = createServerInventory(context, segments, loadMeter, requestJournal)
  const reportedServers = watchReported(context, servers)
  const clusterState = trackClusterState({ context, segments, servers, rules, reportedServers })
  const redis = openProducerConnection(settings)
  const sender = createRequestSender(redis, settings.get('svc.queue.prefix'))
  let leaderSinceMs = 0
  const config = followCoordinatorConfig(database, changes)
  const known = { clusterState, reportedServers, config, leaderSinceMs: () => leaderSinceMs }
  const planner = createCompactionPlanner(context)
  const dutyGroups = createDutyGroups(context, leadership, planner, {
    redis,
    sender,
    segments,
    servers,
    rules,
    requestJournal,
    ...known,
  })
  const view: CoordinatorView = { context, leadership, segments, servers, rules, dutyGroups: dutyGroups.all }
  registerCoordinatorMetrics(context.metrics, view)
  const stopGroups = () => Promise.all(dutyGroups.all.map((group) => group.stop()))
  let election: Election | undefined
  let standbys: readonly Loop[] = []
  return {
    routes: coordinatorRoutes(
      view,
      clusterState,
      createExplanations({ ...view, ...known, loadMeter, loading: dutyGroups.loading }),
      loadMeter,
      planner,
      dutyGroups,
      createUsersFollowers(context, leadership),
    ),
    start: async () => {
      await Promise.all([rules.start(), changes.start()])
      election = standForElection(context, {
        onGain: (term: number) => {
          leaderSinceMs = performance.now()
          forgetLastTerm(view)
          for (const one of [reportedServers, clusterState]) one.restart()
          loadMeter.restart().catch(() => undefined)
          for (const group of dutyGroups.all) group.start(term)
        },
        onLoss: () => void stopGroups(),
      })
      leadership.follow(election)
      await election.settled
      if (!context.stopping.aborted) standbys = followAll(view, planner)
    },
    stop: async () => {
      // A read may take long, and this server must leave the election before.
      const following = Promise.all(standbys.map((standby) => standby.stop()))
      await stopGroups()
      await loadMeter.save()
      await election?.stop()
      await following
      await sender.close()
      redis.disconnect()
    },
  }
}

/** Makes a new leader read again what its predecessor may have changed. */
function forgetLastTerm({
  rules,
  segments,
  servers,
}: Pick<CoordinatorView, 'rules' | 'segments' | 'servers'>): void {
  rules.invalidate()
  segments.abandonRead()
  servers.reset()
}

/**
 * Keeps what a leader needs current while another coordinator is the leader. Call it after the election, because the duties of the
 * leader do the same.
 */
function followAll(
  { context, leadership, segments, servers }: CoordinatorView,
  planner: CompactionPlanner,
): Loop[] {
  const { settings, logger } = context
  const isLeader = () => leadership.term() !== undefined
  const periodMs = settings.get('svc.compaction.period')
  return [
    followAsStandby(segments, servers, isLeader, logger),
    followCompaction(planner, 'duty', isLeader, { periodMs, logger }),
  ]
}

/** Creates the inventory of servers, which logs and counts what they report. */
function createServerInventory(
  { settings, logger, metrics }: Pick<ServiceContext, 'settings' | 'logger' | 'metrics'>,
  { table }: Pick<SegmentInventory, 'table'>,
  loadMeter: LoadMeter,
  requestJournal: RequestJournal,
): ServerInventory {
  const counting = countCopyChanges(metrics, table)
  return new ServerInventory(
    settings.get('svc.coordinator.serverTimeout'),
    {
      ...counting,
      onAnswer: (sentAtMs, isFailed) => requestJournal.noteAnswer(sentAtMs, isFailed),
      onFailure: (server, failure) => {
        logger.error('Data server failed to load or drop a segment', { dataServer: server.name, ...failure })
        counting.onFailure(server, failure)
      },
      onCopyChange: (server, segment, change) => {
        counting.onCopyChange(server, segment, change)
        if (change === 'dropped' || segment.sentAtMs === undefined) return
        loadMeter.note({
          server: server.name,
          sizeBytes: table.sizeOf[segment.row]!,
          sentAtMs: segment.sentAtMs,
          nowMs: server.lastReportAtMs,
        })
      },
    },
    table,
  )
}

function coordinatorRoutes(
  view: CoordinatorView,
  clusterState: ClusterStateTracker,
  explanations: Explanations,
  loadMeter: LoadMeter,
  planner: CompactionPlanner,
  dutyGroups: DutyGroups,
  followers: UsersFollowers,
): Route[] {
  const { context, leadership, segments, servers, rules } = view
  const previews = createPreviews(view, clusterState, {
    rateOf: loadMeter.rateOf,
    untilNextRunMs: dutyGroups.loading.untilNextRunMs,
  })
  const policy = context.settings.get('svc.coordinator.rules.policy')
  const ruleLists = createRuleLists(context, rules, previews.warningsOf, createRulesGuard(policy, previews))
  const feed = createChangeFeed(view, clusterState)
  return [
    // Before the endpoint for the rules of a datasource, whose name could be [history].
    ...ruleHistoryRoutes(context),
    ...rulesRoutes(rules, ruleLists).map((one) => atLeader(leadership, context, one)),
    ...previewRulesRoutes(view, previews, ruleLists),
    inventoryRoute(view, createInventories(view, clusterState, feed)),
    changesRoute(view, feed),
    markKeptUsedRoute(context),
    ...clockAndDutyRunRoutes(view),
    ...faultRoutes(context, servers),
    ...clusterRoutes(view),
    clusterStateRoute(view, clusterState),
    clusterIdRoute(view),
    callsRoute(context),
    certificatesRoute(context),
    serverProblemsRoute(context),
    ...serverRoutes(view, loadMeter),
    ...datasourceRoutes(view),
    ...explainRoutes(view, explanations, planner),
    ...metadataRoutes(view),
    ...dynamicConfigRoutes(context),
    ...compactionConfigRoutes(context),
    ...compactionStatusRoutes(context, planner, dutyGroups.compaction),
    ...segmentMarkingRoutes(context, '/svc/coordinator/v1'),
    killIntervalRoute(context),
    ...internalRoutes(context, leadership, segments, servers, followers),
    ...securityRoutes(context, followers),
  ]
}

await runService(
  'coordinator',
  {
    connections: 10,
    prepareStore: async (context) => {
      await ensureDefaultRules(context.database, firstDefaultRules)
      await createFirstUsers(context)
      // Resets restore it, so it has to contain the rules and users above.
      if (context.settings.get('svc.testing.enabled')) await keepInitialState(context.database)
    },
  },
  buildCoordinator,
)
