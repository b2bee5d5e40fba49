import { datasource, emptyAnswer, type Route, route } from '@svc/shared/http'
import { saveTask } from '@svc/shared/postgres'
import type { ServiceContext } from '@svc/shared/service'
import { newKillTask } from '@svc/shared/tasks'
import { pathInterval } from './datasources.ts'

/** Returns the endpoint that submits a kill task for the unused segments in an interval. */
export function killIntervalRoute({ database, logger }: Pick<ServiceContext, 'database' | 'logger'>): Route {
  return route({
    method: 'DELETE',
    path: '/svc/coordinator/v1/datasources/:dataSource/intervals/:interval',
    access: datasource('WRITE'),
    summary: 'Submit a kill task that deletes the unused segments in an interval (format: `start_end`)',
    answers: [emptyAnswer],
    handle: async ({ params, caller }) => {
      const dataSource = params.dataSource as string
      const interval = pathInterval(params.interval as string)
      const submittedBy = caller.identity
      const task = newKillTask({ idPrefix: 'api-issued_kill', dataSource, interval, submittedBy })
      await saveTask(database, task)
      logger.info('Task submitted', { task: task.id, identity: submittedBy })
    },
  })
}
