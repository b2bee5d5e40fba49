import { formatInstant } from '@svc/domain/time'
import { capacityOf, taskWorkers, totalWorkerCapacity } from '@svc/shared/discovery'
import { config, open, Reply, type Route, route, state } from '@svc/shared/http'
import { loadTasks } from '@svc/shared/postgres'
import type { ServiceContext } from '@svc/shared/service'
import type { TaskRunner } from '@svc/shared/task-running'
import { countUnfinished } from './tasks.ts'

const path = (rest: string): string => `/svc/indexer/v1${rest}`

/** Leadership and workers. */
export function clusterRoutes(
  context: ServiceContext,
  runner: TaskRunner,
  term: () => number | undefined,
): Route[] {
  return [
    route({
      method: 'GET',
      path: path('/leader'),
      access: state('READ'),
      summary: 'The address of the leading overlord',
      handle: () =>
        new Reply(200, context.discovery.leader('overlord').baseUrl, { 'Content-Type': 'text/plain' }),
    }),
    route({
      method: 'GET',
      path: path('/isLeader'),
      access: open,
      summary: 'Whether this overlord leads; 404 if not',
      handle: () => {
        const leader = term() !== undefined
        return new Reply(leader ? 200 : 404, { leader })
      },
    }),
    route({
      method: 'GET',
      path: path('/workers'),
      access: state('READ'),
      summary: 'The servers that run tasks',
      handle: async () => {
        await context.discovery.refresh()
        const running = await loadTasks(context.database, { states: ['RUNNING'], limit: 10_000 })
        return taskWorkers(context.discovery).map((node) => {
          const tasks = running.filter(({ worker }) => worker === node.name)
          const lastCompletedAt = node.name === context.node().name ? runner.lastCompletedAt() : undefined
          return {
            worker: {
              scheme: node.tlsPort === null ? 'http' : 'https',
              host: node.name,
              ip: node.host,
              capacity: capacityOf(node),
              version: '0',
              category: '_default_worker_category',
            },
            currCapacityUsed: tasks.length,
            currParallelIndexCapacityUsed: 0,
            availabilityGroups: [],
            runningTasks: tasks.map(({ id }) => id),
            lastCompletedTaskTime: formatInstant(lastCompletedAt ?? 0),
          }
        })
      },
    }),
    route({
      method: 'GET',
      path: path('/worker'),
      access: config('READ'),
      summary: 'How tasks are given to workers, which cannot be changed: to any that has a slot',
      handle: () => ({ type: 'default', selectStrategy: { type: 'equalDistribution' }, autoScaler: null }),
    }),
    route({
      method: 'GET',
      path: path('/worker/history'),
      access: config('READ'),
      summary: 'Changes of how tasks are given to workers: none',
      handle: () => [],
    }),
    route({
      method: 'GET',
      path: path('/totalWorkerCapacity'),
      access: config('READ'),
      summary: 'Task slots of the cluster',
      handle: async () => {
        await context.discovery.refresh()
        return {
          currentClusterCapacity: totalWorkerCapacity(context.discovery),
          usedClusterCapacity: await countUnfinished(context),
        }
      },
    }),
  ]
}
