import { createCompactionPlanner } from '@svc/shared/compaction'
import type { Election } from '@svc/shared/discovery'
import { createTaskSender, openProducerConnection } from '@svc/shared/redis'
import type { Loop } from '@svc/shared/runtime'
import { segmentUseRoutes } from '@svc/shared/segment-use'
import { runService, type ServiceContext, type ServicePart, standForElection } from '@svc/shared/service'
import { createTaskRunner } from '@svc/shared/task-running'
import { clusterRoutes } from './api/cluster.ts'
import { compactionConfigRoutes } from './api/compaction-config.ts'
import { compactionStatusOf, compactionStatusRoutes } from './api/compaction-status.ts'
import { supervisorRoutes } from './api/supervisors.ts'
import { taskRoutes } from './api/tasks.ts'
import { startCompactionScheduler, startErasingOldTasks, startTaskQueueing } from './duties/index.ts'
import { watchOverlord } from './watch-overlord.ts'

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
  let queueing: Loop | undefined
  let compacting: Loop | undefined
  let erasing: readonly Loop[] = []
  const planner = createCompactionPlanner(context)
  watchOverlord(context.metrics, { database: context.database, runner, term: () => election?.term() })
  return {
    details: { workerCapacity: runner.capacity },
    routes: [
      ...taskRoutes(context, runner, access, () => queueing?.wake()),
      ...segmentUseRoutes(context, '/svc/indexer/v1'),
      ...clusterRoutes(context, runner, () => election?.term()),
      ...compactionConfigRoutes(context, () => compacting?.wake()),
      ...compactionStatusRoutes(planner),
      ...supervisorRoutes(context, {
        statusOf: (dataSource) => compactionStatusOf(planner, dataSource),
        changed: () => compacting?.wake(),
      }),
    ],
    start: async () => {
      await runner.start()
      const change = {
        onGain: () => {
          queueing = startTaskQueueing(context, sender)
          compacting = startCompactionScheduler(context, planner, () => election?.term())
          erasing = startErasingOldTasks(context, () => election?.term())
        },
        onLoss: () => {
          void queueing?.stop()
          queueing = undefined
          void compacting?.stop()
          compacting = undefined
          for (const loop of erasing) void loop.stop()
          erasing = []
        },
      }
      election = standForElection(context, change)
      await election.settled
    },
    stop: async () => {
      await compacting?.stop()
      await Promise.all(erasing.map((loop) => loop.stop()))
      await runner.stop()
      await election?.stop()
      await sender.close()
      redis.disconnect()
    },
  }
}

await runService('overlord', { connections: 10 }, buildOverlord)
