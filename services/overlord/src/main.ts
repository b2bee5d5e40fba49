import { createCompactionPlanner, followCompaction } from '@svc/shared/compaction'
import type { Election } from '@svc/shared/discovery'
import { createResetTable } from '@svc/shared/postgres'
import { createTaskSender, openProducerConnection } from '@svc/shared/redis'
import type { Loop } from '@svc/shared/runtime'
import { segmentMarkingRoutes } from '@svc/shared/segment-marking'
import {
  retryWhileStoreIsUnavailable,
  runService,
  type ServiceContext,
  type ServicePart,
  standForElection,
} from '@svc/shared/service'
import { createTaskRunner } from '@svc/shared/task-running'
import { createDutyGroups } from './duties/index.ts'
import { clusterRoutes } from './endpoints/cluster.ts'
import { compactionConfigRoutes } from './endpoints/compaction-config.ts'
import { compactionStatusOf, compactionStatusRoutes } from './endpoints/compaction-status.ts'
import { supervisorRoutes } from './endpoints/supervisors.ts'
import { taskRoutes } from './endpoints/tasks.ts'
import { registerOverlordMetrics } from './overlord-metrics.ts'
import { keepInitialFiles, resetRoutes } from './resets/index.ts'

function buildOverlord(context: ServiceContext): ServicePart {
  const { settings } = context
  const access = {
    allowedRoots: settings.get('svc.ingestion.local.allowedRoots'),
    allowedHosts: settings.get('svc.ingestion.http.allowedHosts'),
  }
  const runner = createTaskRunner(context, access)
  const redis = openProducerConnection(settings)
  const sender = createTaskSender(redis, settings.get('svc.queue.prefix'))
  let election: Election | undefined
  const planner = createCompactionPlanner(context)
  let standby: Loop | undefined
  const term = () => election?.term()
  const dutyGroups = createDutyGroups(context, { planner, sender, isLeading: (one) => term() === one })
  registerOverlordMetrics(context.metrics, {
    database: context.database,
    runner,
    dutyGroups: dutyGroups.all,
    term,
  })
  return {
    details: { workerCapacity: runner.capacity },
    routes: [
      ...taskRoutes(context, runner, access, dutyGroups.taskQueue.wake),
      ...segmentMarkingRoutes(context, '/svc/indexer/v1'),
      ...clusterRoutes(context, { runner, dutyGroups: dutyGroups.all, term }),
      ...compactionConfigRoutes(context, dutyGroups.supervisors.wake),
      ...compactionStatusRoutes(planner, context),
      ...supervisorRoutes(context, {
        statusOf: (dataSource) => compactionStatusOf(planner, dataSource),
        changed: dutyGroups.supervisors.wake,
      }),
      ...resetRoutes(context),
    ],
    start: async () => {
      if (settings.get('svc.testing.enabled'))
        await Promise.all([
          retryWhileStoreIsUnavailable(() => createResetTable(context.database), context),
          keepInitialFiles(settings),
        ])
      await runner.start()
      const change = {
        onGain: (gained: number) => {
          for (const group of dutyGroups.all) group.start(gained)
        },
        onLoss: () => {
          for (const group of dutyGroups.all) void group.stop()
        },
      }
      election = standForElection(context, change)
      await election.settled
      // Not earlier, because the duties of the leader do the same.
      if (context.stopping.aborted) return
      standby = followCompaction(planner, 'supervisors', () => term() !== undefined, {
        periodMs: settings.get('svc.compaction.period'),
        logger: context.logger,
      })
    },
    stop: async () => {
      // A plan may take long, and this server must leave the election before.
      const following = standby?.stop()
      await Promise.all(dutyGroups.all.map((group) => group.stop()))
      await runner.stop()
      await election?.stop()
      await following
      await sender.close()
      redis.disconnect()
    },
  }
}

await runService('overlord', { connections: 10 }, buildOverlord)
