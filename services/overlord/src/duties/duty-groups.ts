import type { CompactionPlanner } from '@svc/shared/compaction'
import { createDutyGroup, type DutyGroup } from '@svc/shared/duties'
import type { TaskSender } from '@svc/shared/redis'
import type { ServiceContext } from '@svc/shared/service'
import { killFinishedTasks, killTaskLogs } from './kill-old-tasks.ts'
import { queueTasks } from './queue-tasks.ts'
import { runSupervisors } from './run-supervisors.ts'

const queuePeriodMs = 2000

/** What the duties of the overlord work with. */
export interface DutyParts {
  readonly planner: CompactionPlanner
  readonly sender: TaskSender
  isLeading(term: number): boolean
}

/** The duty groups of an overlord. */
export interface OverlordDutyGroups {
  readonly taskQueue: DutyGroup
  readonly supervisors: DutyGroup
  readonly all: readonly DutyGroup[]
}

/** Creates the duty groups of an overlord. Deleting old tasks and logs is optional. */
export function createDutyGroups(
  context: Pick<ServiceContext, 'client' | 'clock' | 'database' | 'logger' | 'settings' | 'stopping'>,
  { planner, sender, isLeading }: DutyParts,
): OverlordDutyGroups {
  const { settings, logger } = context
  const taskQueue = createDutyGroup(
    'TaskQueueDuties',
    queuePeriodMs,
    [queueTasks(context.database, sender)],
    logger,
  )
  const supervisors = createDutyGroup(
    'SupervisorDuties',
    settings.get('svc.compaction.period'),
    [runSupervisors(context, planner, isLeading)],
    logger,
  )
  const killing: DutyGroup[] = []
  if (settings.get('svc.indexer.tasks.kill.enabled')) {
    const periodMs = settings.get('svc.indexer.tasks.kill.delay')
    killing.push(createDutyGroup('KillTaskDuties', periodMs, [killFinishedTasks(context)], logger))
  }
  if (settings.get('svc.indexer.logs.kill.enabled')) {
    const periodMs = settings.get('svc.indexer.logs.kill.delay')
    killing.push(createDutyGroup('KillTaskLogDuties', periodMs, [killTaskLogs(context, isLeading)], logger))
  }
  return { taskQueue, supervisors, all: [taskQueue, supervisors, ...killing] }
}
