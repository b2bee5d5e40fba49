import { eternity } from '@svc/domain/time'
import { totalWorkerCapacity } from '@svc/shared/discovery'
import type { Duty } from '@svc/shared/duties'
import {
  assertLeads,
  countUnfinishedTasks,
  type Database,
  loadKillableIntervals,
  saveTask,
} from '@svc/shared/postgres'
import type { ServiceContext } from '@svc/shared/service'
import { killTask, newKillTask } from '@svc/shared/tasks'
import { loadCoordinatorConfig } from '../inventory/index.ts'

// Listed as the submitter of the tasks.
const submittedBy = 'coordinator'

/**
 * Submits kill tasks for segments that are older than the duration to retain and that became unused before the buffer
 * period. The task itself skips segments that have changed since.
 */
export function killUnusedSegments(
  { settings, clock, discovery, logger }: Pick<ServiceContext, 'settings' | 'clock' | 'discovery' | 'logger'>,
  database: Database,
): Duty {
  return {
    name: 'killUnusedSegments',
    run: async (term) => {
      const config = await loadCoordinatorConfig(database)
      const now = clock.now()
      const unusedUntil = now - settings.get('svc.coordinator.kill.bufferPeriod')
      const before = settings.get('svc.coordinator.kill.ignoreDurationToRetain')
        ? eternity.end
        : now - settings.get('svc.coordinator.kill.durationToRetain')
      const limit = settings.get('svc.coordinator.kill.maxSegments')
      const capacity = totalWorkerCapacity(discovery)
      const slots = Math.min(
        Math.max(Math.floor(capacity * config.killTaskSlotRatio), config.killTaskSlotRatio > 0 ? 1 : 0),
        config.maxKillTaskSlots,
      )
      const allowed = new Set(config.killDataSourceWhitelist)
      const killable = await loadKillableIntervals(database, { before, unusedUntil, limit })
      const submitted = await database.transaction(async (transaction) => {
        await assertLeads(transaction, 'coordinator', term)
        const unfinished = await countUnfinishedTasks(transaction, killTask.type)
        let free = slots - [...unfinished.values()].reduce((sum, count) => sum + count, 0)
        const tasks: string[] = []
        for (const { dataSource, interval } of killable) {
          if (free <= 0) break
          if (allowed.size > 0 && !allowed.has(dataSource)) continue
          // A running task may already be deleting these segments.
          if (unfinished.has(dataSource)) continue
          const idPrefix = 'coordinator-issued_kill'
          const task = newKillTask({ idPrefix, dataSource, interval, limit, unusedUntil, submittedBy })
          if (await saveTask(transaction, task)) tasks.push(task.id)
          free -= 1
        }
        return tasks
      })
      for (const task of submitted) logger.info('Task submitted', { task, identity: submittedBy })
      return submitted.length > 0 ? { killTasks: submitted.length } : undefined
    },
  }
}
