import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { missingPermission } from '@svc/domain/access'
import { notFound } from '@svc/domain/failure'
import { jsonList } from '@svc/domain/json'
import { dayMs } from '@svc/domain/time'
import {
  omittable,
  readDatasourceName,
  readList,
  readOneOf,
  readText,
  type ValuesOf,
} from '@svc/domain/validation'
import type { FileStore } from '@svc/shared/deep-storage'
import {
  authenticated,
  JsonPieces,
  jsonAnswer,
  jsonBody,
  type Route,
  type RouteInput,
  route,
  state,
  statedDatasource,
  streamed,
  textAnswer,
} from '@svc/shared/http'
import type { InputAccess } from '@svc/shared/ingestion'
import {
  cancelTask,
  type Database,
  loadTaskPayload,
  loadTasksShownAs,
  loadTasksShownAsAny,
  pagesOfNewestTasks,
  type StoredTask,
  type TaskQuery,
  type TaskState,
} from '@svc/shared/postgres'
import { accessTo, assertAccess, type Caller, permittedItems } from '@svc/shared/security'
import type { ServiceContext } from '@svc/shared/service'
import { openTaskLogs, type TaskRunner, taskLogName } from '@svc/shared/task-running'
import { integerParameter, positiveCount, textParameter } from '@svc/shared/wire'
import * as z from 'zod'
import { explanationOf } from './explain-task.ts'
import { submitTaskRoute } from './submit-task.ts'
import { describeTask, describeTaskStatus, taskIdShape, taskShape, taskStatusShape } from './task-status.ts'

const path = (rest: string): string => `/svc/indexer/v1${rest}`

// Like Druid 37, lists without max leave out finished tasks that are older.
const maxFinishedAgeMs = dayMs

const statesOf = {
  running: ['RUNNING'],
  pending: ['PENDING'],
  waiting: ['PENDING'],
  complete: ['SUCCESS', 'FAILED'],
} as const satisfies Record<string, readonly TaskState[]>

type ListedState = keyof typeof statesOf

const maxTasksPerRequest = 1000
const readTaskIds = readList(readText, { min: 1, max: maxTasksPerRequest, item: 'task ID' })

const listQuery = {
  state: omittable(readOneOf(Object.keys(statesOf) as ListedState[])),
  datasource: omittable(readDatasourceName),
  type: omittable(textParameter),
  max: omittable(positiveCount()),
}

/** Reads the offset of a log; a negative one counts from the end. */
const offset = integerParameter(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER)
const logQuery = { offset: omittable(offset, 0) }

type Context = Pick<ServiceContext, 'database' | 'settings' | 'logger' | 'discovery'>
type Input = RouteInput<unknown, unknown>

/** The endpoints of tasks. */
export const taskRoutes = (
  context: Context,
  runner: Pick<TaskRunner, 'cancel'>,
  access: InputAccess,
  queueNow: () => void,
): Route[] => [
  submitTaskRoute(context, access, queueNow),
  listRoute(context, 'tasks', 'List tasks'),
  listRoute(context, 'runningTasks', 'List running tasks', 'running'),
  listRoute(context, 'pendingTasks', 'List tasks that are waiting for a worker', 'pending'),
  listRoute(
    context,
    'waitingTasks',
    'List tasks that are waiting for a lock or are held back by a limit',
    'waiting',
  ),
  listRoute(context, 'completeTasks', 'List finished tasks', 'complete'),
  statusesRoute(context),
  ...readTaskRoutes(context),
  explainRoute(context, access),
  shutDownRoute(context, runner),
]

const readsOne = statedDatasource('READ', 'the datasource of the task')

async function list(
  database: Database,
  caller: Caller,
  query: ValuesOf<typeof listQuery>,
  listed?: ListedState,
): Promise<JsonPieces> {
  if (query.datasource !== undefined) await assertAccess(caller, query.datasource)
  const state = listed ?? query.state
  const wanted: TaskQuery = {
    states: state && statesOf[state],
    waiting: state === 'waiting' ? true : state === 'pending' ? false : undefined,
    dataSources: query.datasource === undefined ? undefined : [query.datasource],
    type: query.type,
    limit: query.max,
    maxFinishedAgeMs: query.max === undefined ? maxFinishedAgeMs : undefined,
  }
  const readable = (names: Iterable<string>) => accessTo(caller, names)
  const pages = async function* () {
    for await (const tasks of pagesOfNewestTasks(database, wanted, readable))
      yield tasks.map((task) => JSON.stringify(describeTask(task)))
  }
  return new JsonPieces(jsonList(pages()))
}

const listRoute = ({ database }: Context, name: string, summary: string, state?: ListedState): Route =>
  route({
    method: 'GET',
    path: path(`/${name}`),
    access: authenticated,
    summary:
      state === undefined || state === 'complete'
        ? `${summary}, newest first. \`max\` limits the number of tasks; without \`max\`, leaves out finished tasks that were created more than 24 hours ago`
        : `${summary}, newest first. \`max\` limits the number of tasks`,
    query: listQuery,
    answers: [jsonAnswer(z.array(taskShape))],
    // If the request names a datasource that the caller may not read.
    failures: ['forbidden'],
    handle: ({ caller, query }) => list(database, caller, query, state),
  })

const statusesRoute = ({ database }: Context): Route =>
  route({
    method: 'POST',
    path: path('/taskStatus'),
    access: state('WRITE'),
    summary: 'Get the status of several tasks by ID. Tasks that the caller may not read are left out',
    body: jsonBody(readTaskIds),
    answers: [jsonAnswer(z.record(z.string(), taskStatusShape))],
    handle: async ({ body, caller }) => {
      const found = await loadTasksShownAsAny(database, body)
      const shown = await permittedItems(caller, found, ({ dataSource }) => dataSource, 'SEE')
      // If several tasks have the same id, the newest one wins.
      return Object.fromEntries(shown.toReversed().map((task) => [task.shownId, describeTaskStatus(task)]))
    },
  })

/**
 * Returns the task of a request. Throws forbidden if the caller may not do `action` with it, or notFound if the caller
 * may not even read it.
 */
async function taskOf(database: Database, input: Input, action: 'READ' | 'WRITE'): Promise<StoredTask> {
  const id = input.params.task as string
  const tasks = await loadTasksShownAs(database, id)
  const permitted = (wanted: 'WRITE' | 'READ' | 'SEE') =>
    permittedItems(input.caller, tasks, ({ dataSource }) => dataSource, wanted)
  const [allowed] = await permitted(action)
  if (allowed) return allowed
  const [readable] = await permitted('SEE')
  if (readable) throw missingPermission(action, 'DATASOURCE', readable.dataSource)
  throw notFound(`Task [${id}] does not exist`)
}

function readTaskRoutes({ database, settings }: Context): Route[] {
  const logs = openTaskLogs(settings)
  return [
    route({
      method: 'GET',
      path: path('/task/:task'),
      access: readsOne,
      summary: 'Get the spec of a task',
      answers: [jsonAnswer(z.object({ task: z.string(), payload: z.looseObject({}) }))],
      handle: async (input) => {
        const { id, shownId } = await taskOf(database, input, 'READ')
        return { task: shownId, payload: await loadTaskPayload(database, id) }
      },
    }),
    route({
      method: 'GET',
      path: path('/task/:task/status'),
      access: readsOne,
      summary: 'Get the status of a task',
      answers: [jsonAnswer(z.object({ task: z.string(), status: taskShape }))],
      handle: async (input) => {
        const task = await taskOf(database, input, 'READ')
        return { task: task.shownId, status: describeTask(task) }
      },
    }),
    route({
      method: 'GET',
      path: path('/task/:task/log'),
      access: readsOne,
      summary: 'Get the log of a task. A negative offset counts from the end',
      query: logQuery,
      answers: [textAnswer('text/plain')],
      handle: async (input) => {
        const task = await taskOf(database, input, 'READ')
        await sendLog(logs, task, input.query.offset, input)
        return streamed
      },
    }),
  ]
}

const explainRoute = (context: Context, access: InputAccess): Route =>
  route({
    method: 'GET',
    path: path('/task/:task/explain'),
    access: readsOne,
    summary:
      'Explain a task: which locks or slots it is waiting for, which limits delay it, where it is running, or why it failed',
    answers: [jsonAnswer(z.object({ sentences: z.array(z.string()) }).meta({ title: 'TaskExplanation' }))],
    handle: async (input) => {
      const task = await taskOf(context.database, input, 'READ')
      return { sentences: await explanationOf(context, access, task, input.caller) }
    },
  })

const shutDownRoute = ({ database, logger }: Context, runner: Pick<TaskRunner, 'cancel'>): Route =>
  route({
    method: 'POST',
    path: path('/task/:task/shutdown'),
    access: statedDatasource('WRITE', 'the datasource of the task'),
    summary: 'Shut down a task',
    answers: [jsonAnswer(taskIdShape)],
    handle: async (input) => {
      const task = await taskOf(database, input, 'WRITE')
      const { id } = task
      if (await cancelTask(database, id, `Shut down by [${input.caller.identity}]`)) {
        logger.info('Task shut down', { task: id, identity: input.caller.identity })
        runner.cancel(task)
      }
      return { task: task.shownId }
    },
  })

async function sendLog(
  logs: FileStore,
  { id, shownId, state }: Pick<StoredTask, 'id' | 'shownId' | 'state'>,
  offset: number,
  { response }: Input,
): Promise<void> {
  const found = await logs.find(taskLogName(id))
  // The log of a task that has just started has not been stored yet.
  if (found === undefined && state !== 'RUNNING')
    throw notFound(`Task [${shownId}] has no log on this server yet`)
  const { path: name, sizeBytes } = found ?? { path: '', sizeBytes: 0 }
  const start = offset < 0 ? Math.max(sizeBytes + offset, 0) : Math.min(offset, sizeBytes)
  const rest = start === sizeBytes ? Readable.from([]) : await logs.read(name, start, sizeBytes)
  response.setHeader('Content-Type', 'text/plain; charset=utf-8')
  response.setHeader('Content-Length', sizeBytes - start)
  await pipeline(rest, response)
}
