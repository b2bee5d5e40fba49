import { createCompactionPlanner } from '@svc/shared/compaction'
import type { Election } from '@svc/shared/discovery'
import { createDutyGroup } from '@svc/shared/duties'
import { ensureDefaultRules } from '@svc/shared/postgres'
import { createRequestSender, openProducerConnection } from '@svc/shared/redis'
import { segmentUseRoutes } from '@svc/shared/segment-use'
import { runService, type ServiceContext, type ServicePart, standForElection } from '@svc/shared/service'
import { clockAndDutyRunRoutes } from './api/clock-and-duty-runs.ts'
import { clusterRoutes } from './api/cluster.ts'
import { clusterStateRoute } from './api/cluster-state.ts'
import type { ClusterView } from './api/cluster-view.ts'
import { compactionConfigRoutes } from './api/compaction-config.ts'
import { compactionStatusRoutes } from './api/compaction-status.ts'
import { datasourceRoutes } from './api/datasources.ts'
import { dynamicConfigRoutes } from './api/dynamic-config.ts'
import { faultRoutes } from './api/faults.ts'
import { internalRoutes } from './api/internal.ts'
import { killIntervalRoute } from './api/kill-interval.ts'
import { metadataRoutes } from './api/metadata.ts'
import { previewRulesRoutes } from './api/preview-rules.ts'
import { createRuleLists, firstDefaultRules, rulesRoutes } from './api/rules.ts'
import { securityRoutes } from './api/security/index.ts'
import { serverRoutes } from './api/servers.ts'
import { trackClusterState } from './cluster-state/index.ts'
import { cleanMetadata, compactSegments, killAuditLog, killUnusedSegments, runRules } from './duties/index.ts'
import { createSegmentInventory, followRules, ServerInventory, watchReported } from './inventory/index.ts'
import { createLeadership } from './leadership/index.ts'
import { createPreviews } from './preview/index.ts'
import { createDirectoryFollowers, createFirstUsers } from './users/index.ts'
import { countCopyChanges, watchCoordinator } from './watch-coordinator.ts'

const metadataPeriodMs = 600_000

function buildCoordinator(context: ServiceContext): ServicePart {
  const { settings, logger, clock, database } = context
  const leadership = createLeadership()
  const isLeader = (term: number): boolean => leadership.term() === term
  const segments = createSegmentInventory(database)
  const rules = followRules(database)
  const counting = countCopyChanges(context.metrics, segments.table)
  const servers = new ServerInventory(
    settings.get('svc.coordinator.serverTimeout'),
    {
      ...counting,
      onFailure: (server, failure) => {
        logger.error('Data server failed to load or drop a segment', { dataServer: server.name, ...failure })
        counting.onFailure(server, failure)
      },
    },
    segments.table,
  )
  const reportedServers = watchReported(context, servers)
  const clusterState = trackClusterState({ context, segments, servers, rules, reportedServers })
  const redis = openProducerConnection(settings)
  const sender = createRequestSender(redis, settings.get('svc.queue.prefix'))
  let leaderSinceMs = 0
  const planner = createCompactionPlanner(context)
  const compactionDuties = createDutyGroup(
    'CompactionDuties',
    settings.get('svc.compaction.period'),
    [compactSegments(context, planner, leadership)],
    logger,
  )
  const dutyGroups = [
    createDutyGroup(
      'HistoricalManagementDuties',
      settings.get('svc.coordinator.period'),
      [
        runRules({
          database,
          clock,
          logger,
          redis,
          queuePrefix: settings.get('svc.queue.prefix'),
          sender,
          segments,
          servers,
          rules,
          requestTimeoutMs: settings.get('svc.coordinator.load.timeout'),
          isLeader,
          leaderSinceMs: () => leaderSinceMs,
          clusterState,
          reportedServers,
        }),
      ],
      logger,
    ),
    createDutyGroup('MetadataManagementDuties', metadataPeriodMs, [cleanMetadata(database)], logger),
    compactionDuties,
    ...(settings.get('svc.coordinator.kill.on')
      ? [
          createDutyGroup(
            'KillDuties',
            settings.get('svc.coordinator.kill.period'),
            [killUnusedSegments(context, database)],
            logger,
          ),
        ]
      : []),
    ...(settings.get('svc.coordinator.kill.audit.on')
      ? [
          createDutyGroup(
            'KillAuditLogDuties',
            settings.get('svc.coordinator.kill.audit.period'),
            [killAuditLog(context, database, isLeader)],
            logger,
          ),
        ]
      : []),
  ]
  const followers = createDirectoryFollowers(context, leadership)
  const view: ClusterView = { context, leadership, segments, servers, rules, dutyGroups }
  watchCoordinator(context.metrics, view)
  const previews = createPreviews(view, clusterState)
  const ruleLists = createRuleLists(context, rules, previews.warningsOf)
  let election: Election | undefined
  return {
    routes: [
      ...rulesRoutes(context, rules, ruleLists),
      ...previewRulesRoutes(view, previews, ruleLists),
      ...clockAndDutyRunRoutes(view),
      ...faultRoutes(context, servers),
      ...clusterRoutes(view),
      clusterStateRoute(view, clusterState),
      ...serverRoutes(view),
      ...datasourceRoutes(view),
      ...metadataRoutes(view),
      ...dynamicConfigRoutes(context),
      ...compactionConfigRoutes(context),
      ...compactionStatusRoutes(planner, compactionDuties.wake),
      ...segmentUseRoutes(context, '/svc/coordinator/v1'),
      killIntervalRoute(context),
      ...internalRoutes(context, leadership, segments, servers, followers),
      ...securityRoutes(context, followers),
    ],
    start: async () => {
      await rules.start()
      const change = {
        onGain: (term: number) => {
          leaderSinceMs = performance.now()
          servers.reset()
          segments.reset()
          reportedServers.restart()
          clusterState.restart()
          // Refresh while the servers report. If this fails, the first run tries again.
          segments.refresh().catch(() => undefined)
          for (const group of dutyGroups) group.start(term)
        },
        onLoss: () => {
          for (const group of dutyGroups) void group.stop()
        },
      }
      election = standForElection(context, change)
      leadership.follow(election)
      await election.settled
    },
    stop: async () => {
      await Promise.all(dutyGroups.map((group) => group.stop()))
      await election?.stop()
      await sender.close()
      redis.disconnect()
    },
  }
}

await runService(
  'coordinator',
  {
    connections: 10,
    prepareStore: async (context) => {
      await ensureDefaultRules(context.database, firstDefaultRules)
      await createFirstUsers(context)
    },
  },
  buildCoordinator,
)
