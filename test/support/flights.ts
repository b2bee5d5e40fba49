import path from 'node:path'
import { repositoryRoot } from '@svc/cli/home'
import { type HttpClient, waitUntil } from '@svc/shared/testing'

/** Figures of the example data set. */
export const flights = { dataSource: 'flights', days: 90, rows: 20_000 } as const

const taskTimeoutMs = 120_000

/** The task that ingests the example flights from `folder`, as seen by the overlord. */
export function flightsTask({
  dataSource = flights.dataSource as string,
  segmentGranularity = 'DAY',
  folder = path.join(repositoryRoot, 'data'),
} = {}): object {
  return {
    type: 'index_parallel',
    spec: {
      dataSchema: {
        dataSource,
        timestampSpec: { column: 'time', format: 'iso' },
        dimensionsSpec: { dimensions: ['origin', 'destination'] },
        metricsSpec: [{ type: 'longSum', name: 'distance', fieldName: 'distance' }],
        granularitySpec: { segmentGranularity, queryGranularity: 'NONE', rollup: false },
      },
      ioConfig: {
        type: 'index_parallel',
        inputSource: { type: 'local', baseDir: folder, filter: 'flights.csv' },
        inputFormat: { type: 'csv', findColumnsFromHeader: true },
        appendToExisting: false,
      },
      tuningConfig: { type: 'index_parallel', partitionsSpec: { type: 'dynamic' } },
    },
  }
}

interface TaskStatusAnswer {
  readonly status: { readonly statusCode: string; readonly errorMsg: string | null }
}

/** Submits a task and returns its id. */
export async function submitTask(router: HttpClient, task: object): Promise<string> {
  const { task: id } = (await router.post('/svc/indexer/v1/task', task)).json as { task: string }
  return id
}

/** Waits until a task is complete. Throws if it failed. */
export async function untilTaskSucceeds(router: HttpClient, id: string): Promise<void> {
  const { status } = await waitUntil(
    `task ${id} is complete`,
    () => router.get<TaskStatusAnswer>(`/svc/indexer/v1/task/${encodeURIComponent(id)}/status`),
    (answer) => answer.status.statusCode !== 'RUNNING',
    { timeoutMs: taskTimeoutMs },
  )
  if (status.statusCode !== 'SUCCESS') throw new Error(`Task ${id}: ${JSON.stringify(status)}`)
}

/** Submits a task, waits until it has succeeded, and returns its id. */
export async function runTask(router: HttpClient, task: object): Promise<string> {
  const id = await submitTask(router, task)
  await untilTaskSucceeds(router, id)
  return id
}
