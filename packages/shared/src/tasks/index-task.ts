import { indexTaskType as type } from '@svc/domain/ingestion'
import {
  type HttpInputLimits,
  httpInputLimitsOf,
  type IndexSpec,
  type InputAccess,
  indexTaskSchema,
  parseIndexSpec,
  runIndexTask,
} from '../ingestion/index.ts'
import { newTaskId } from '../postgres/index.ts'
import { publishIndex } from './publish-index-task.ts'
import type { TaskType } from './task-type.ts'

interface IndexOrder {
  readonly payload: unknown
  readonly access: InputAccess
  readonly httpLimits: HttpInputLimits
}

/** Ingestion. */
export const indexTask: TaskType<IndexSpec, IndexOrder> = {
  type,
  schema: indexTaskSchema,
  priority: 50,
  parse: parseIndexSpec,
  newId: ({ dataSource }) => newTaskId(type, dataSource),
  run: (spec, task) =>
    task.complete(async () => {
      const { database, settings, clock, payload, access } = task
      const order: IndexOrder = { payload, access, httpLimits: httpInputLimitsOf(settings) }
      return {
        work: () => task.work(order, 1),
        publish: (attempt, { segments }) => publishIndex(database, attempt, spec, segments, clock.now()),
      }
    }),
  work: async ({ payload, access, httpLimits }, { log, ...options }) => {
    const spec = parseIndexSpec(payload, access)
    const { segments, ...counts } = await runIndexTask(spec, { ...options, access, httpLimits })
    log('Wrote segments', { segments: segments.length, ...counts })
    return { segments }
  },
}
