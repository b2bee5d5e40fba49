import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { safeFileName, segmentPath } from '@svc/shared/deep-storage'
import { createDutyGroup } from '@svc/shared/duties'
import { loadTask, type StoredTask } from '@svc/shared/postgres'
import { createTaskSender, openProducerConnection } from '@svc/shared/redis'
import { createTaskRunner, type TaskRunner } from '@svc/shared/task-running'
import {
  type Answer,
  createTestContext,
  createTestStores,
  httpRequest,
  type Scope,
  type TestContext,
  type TestStores,
  temporaryFolder,
  waitUntil,
} from '@svc/shared/testing'
import { queueTasks } from '../duties/index.ts'
import { taskRoutes } from '../endpoints/tasks.ts'

/** A worker in this process that uses real stores and a real port. */
export interface TestWorker {
  readonly context: TestContext
  readonly runner: TaskRunner
  /** Submits a task and returns its id. */
  submit(body: object): Promise<string>
  request(path: string, method?: string): Promise<Answer>
  stop(): Promise<void>
}

/** The folders that the workers of a test file write to. */
export interface WorkFolders {
  readonly storage: string
  readonly logs: string
  readonly work: string
}

/** Creates stores and folders for the tests of a file. */
export async function openTaskStores(scope: Scope) {
  const stores = await createTestStores(scope)
  const folder = temporaryFolder(scope)
  const folders: WorkFolders = {
    storage: path.join(folder, 'deep-storage'),
    logs: path.join(folder, 'logs'),
    work: path.join(folder, 'work'),
  }
  return { stores, database: stores.database, folder, folders }
}

export const workProperties = ({ storage, logs, work }: WorkFolders): Record<string, string> => ({
  'svc.storage.storageDirectory': storage,
  'svc.indexer.logs.directory': logs,
  'svc.indexer.task.baseTaskDir': work,
  'svc.indexer.task.memoryLimit': '256MiB',
})

/** Starts a worker that is also the leader: it queues waiting tasks. */
export async function startWorker(
  scope: Scope,
  stores: TestStores,
  folders: WorkFolders,
  {
    capacity = 1,
    allowedHosts = [] as readonly string[],
    properties: more = {} as Readonly<Record<string, string>>,
  } = {},
): Promise<TestWorker> {
  const properties = { ...workProperties(folders), 'svc.worker.capacity': String(capacity), ...more }
  const context = await createTestContext(scope, stores, 'overlord', properties)
  const access = { allowedRoots: [], allowedHosts }
  const runner = createTaskRunner(context, access)
  const redis = openProducerConnection(context.settings)
  const sender = createTaskSender(redis, context.settings.get('svc.queue.prefix'))
  const queueing = createDutyGroup(
    'TaskQueueDuties',
    2000,
    [queueTasks(context.database, sender)],
    context.logger,
  )
  queueing.start(1)
  await context.serve({ routes: taskRoutes(context, runner, access, queueing.wake) })
  await runner.start()
  const stop = async (): Promise<void> => {
    context.beginToStop()
    await queueing.stop()
    await runner.stop()
    await waitUntil('the processes of its tasks have ended', () => runner.running().length === 0)
    redis.disconnect()
  }
  scope.after(stop)
  const request = (rest: string, method = 'GET', body?: object) =>
    httpRequest(context.port, { path: `/svc/indexer/v1${rest}`, method, body })
  return {
    context,
    runner,
    request,
    submit: async (body) => {
      const answer = await request('/task', 'POST', body)
      if (answer.status !== 200) throw new Error(answer.text)
      return (answer.json as { task: string }).task
    },
    stop,
  }
}

/** Starts an input server that responds when the test calls `release`. Until then, a task that reads it keeps running. */
export async function startHeldInput(scope: Scope) {
  const waiting: ServerResponse[] = []
  let requested = 0
  const server = createServer((_request, response) => {
    requested += 1
    waiting.push(response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  scope.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    host,
    source: { type: 'http', uris: [`http://${host}/rows.json`] },
    requested: () => requested,
    release: (text: string) => {
      for (const response of waiting.splice(0)) response.end(text)
    },
  }
}

/** Waits until a task has finished. */
export const ended = (stores: TestStores, id: string, timeoutMs = 30_000): Promise<StoredTask | undefined> =>
  waitUntil(
    `task ${id} has finished`,
    () => loadTask(stores.database, id),
    (task) => task?.state === 'SUCCESS' || task?.state === 'FAILED',
    { timeoutMs },
  )

/** Writes a file to deep storage, as a running attempt would. Returns its path. */
export function leaveFile(
  { storage }: WorkFolders,
  { dataSource, taskId, attempt }: { dataSource: string; taskId: string; attempt: number },
): string {
  const interval = { start: Date.UTC(2026, 0, 9), end: Date.UTC(2026, 0, 10) }
  const pathPrefix = `${safeFileName(taskId)}-${attempt}`
  const file = path.join(storage, segmentPath({ dataSource, interval, partition: 0, pathPrefix }))
  mkdirSync(path.dirname(file), { recursive: true })
  writeFileSync(file, 'rows')
  return file
}
