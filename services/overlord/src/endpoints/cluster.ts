import { formatInstant } from '@svc/domain/time'
import { capacityOf, taskWorkers, totalWorkerCapacity } from '@svc/shared/discovery'
import { type LeaderView, leaderAndDutyRoutes } from '@svc/shared/duties'
import { config, jsonAnswer, type Route, route, state } from '@svc/shared/http'
import { countRunningTasks, loadTasks } from '@svc/shared/postgres'
import type { ServiceContext } from '@svc/shared/service'
import type { TaskRunner } from '@svc/shared/task-running'
import * as z from 'zod'

const path = (rest: string): string => `/svc/indexer/v1${rest}`

const workerShape = z
  .object({
    worker: z.object({
      scheme: z.string(),
      host: z.string(),
      ip: z.string(),
      capacity: z.int(),
      version: z.string(),
      category: z.string(),
    }),
    currCapacityUsed: z.int(),
    currParallelIndexCapacityUsed: z.int(),
    availabilityGroups: z.array(z.string()),
    runningTasks: z.array(z.string()),
    lastCompletedTaskTime: z.string(),
  })
  .meta({ title: 'Worker' })

type Context = Pick<ServiceContext, 'database' | 'discovery' | 'node'>

/** The endpoints about the leader, its duties, and the workers. */
export const clusterRoutes = (
  context: Context,
  parts: Omit<LeaderView, 'discovery'> & { readonly runner: Pick<TaskRunner, 'lastCompletedAt'> },
): Route[] => [
  ...leaderAndDutyRoutes('overlord', '/svc/indexer/v1', { ...parts, discovery: context.discovery }),
  ...workerRoutes(context, parts.runner),
  ...assignmentRoutes,
]

function workerRoutes(
  { database, discovery, node: ownNode }: Context,
  runner: Pick<TaskRunner, 'lastCompletedAt'>,
): Route[] {
  return [
    route({
      method: 'GET',
      path: path('/workers'),
      access: state('READ'),
      summary: 'List the servers that run tasks',
      answers: [jsonAnswer(z.array(workerShape))],
      handle: async () => {
        await discovery.refresh()
        const running = await loadTasks(database, { states: ['RUNNING'] })
        const byWorker = Map.groupBy(running, ({ worker }) => worker)
        return taskWorkers(discovery).map((node) => {
          const tasks = byWorker.get(node.name) ?? []
          const lastCompletedAt = node.name === ownNode().name ? runner.lastCompletedAt() : undefined
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
            runningTasks: tasks.map(({ shownId }) => shownId),
            lastCompletedTaskTime: formatInstant(lastCompletedAt ?? 0),
          }
        })
      },
    }),
    route({
      method: 'GET',
      path: path('/totalWorkerCapacity'),
      access: config('READ'),
      summary: 'Get the total and used task slots of the cluster',
      answers: [
        jsonAnswer(
          z.object({
            currentClusterCapacity: z.int(),
            maximumCapacityWithAutoScale: z
              .int()
              .describe('Always -1, because svc does not add workers automatically'),
            usedClusterCapacity: z.int(),
          }),
        ),
      ],
      handle: async () => {
        await discovery.refresh()
        return {
          currentClusterCapacity: totalWorkerCapacity(discovery),
          maximumCapacityWithAutoScale: -1,
          usedClusterCapacity: await countRunningTasks(database),
        }
      },
    }),
  ]
}

const assignmentRoutes: Route[] = [
  route({
    method: 'GET',
    path: path('/worker'),
    access: config('READ'),
    summary:
      'Get the strategy for assigning tasks to workers. The strategy is fixed: any worker with a free slot takes the next task',
    answers: [jsonAnswer(z.looseObject({ type: z.string() }))],
    handle: () => ({ type: 'default', selectStrategy: { type: 'equalDistribution' }, autoScaler: null }),
  }),
  route({
    method: 'GET',
    path: path('/worker/history'),
    access: config('READ'),
    summary: 'List changes to the strategy for assigning tasks to workers. The list is always empty',
    answers: [jsonAnswer(z.array(z.looseObject({})))],
    handle: () => [],
  }),
]
