import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { conflict, forbidden, invalidInput, notFound } from '@svc/domain/failure'
import { hasControlCharacter, isJsonObject, refuse, showValue } from '@svc/domain/validation'
import {
  authenticated,
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
  loadReadableTasks,
  loadTaskPayload,
  loadTasksShownAs,
  loadTasksShownAsAny,
  type NewTask,
  type StoredTask,
  saveTask,
  scopedTaskId,
  type TaskQuery,
  type TaskState,
} from '@svc/shared/postgres'
import type { Caller } from '@svc/shared/security'
import type { ServiceContext } from '@svc/shared/service'
import { type TaskRunner, taskLogFile } from '@svc/shared/task-running'
import { taskTypeOf, taskTypes } from '@svc/shared/tasks'
import { datasourceParameter, listOf, parserOf, positiveCount, unparsed } from '@svc/shared/wire'
import { z } from 'zod'
import { describeTask, describeTaskStatus, taskShape, taskStatusShape } from './task-status.ts'

const path = (rest: string): string => `/svc/indexer/v1${rest}`

// Maximum number of tasks in a list if the request sets none.
const defaultListLength = 1000
const maxTaskIdLength = 255

const statesOf = {
  running: ['RUNNING'],
  pending: ['PENDING'],
  waiting: ['PENDING'],
  complete: ['SUCCESS', 'FAILED'],
} as const satisfies Record<string, readonly TaskState[]>

type ListedState = keyof typeof statesOf

const maxTasksPerRequest = 1000
// A compact task may name many segments, which are most of its values.
const maxTaskValues = 250_000
const taskIdsSchema = listOf(z.string({ error: 'a task id' }), {
  error: 'a list of task ids',
  max: maxTasksPerRequest,
  tooLong: `at most ${maxTasksPerRequest} ids`,
})

const taskIdShape = z.object({ task: z.string() })
const newTaskShape = z.union(taskTypes.map(({ shape }) => shape))

const listQuery = z.object({
  state: z.enum(Object.keys(statesOf) as ListedState[]).optional(),
  datasource: datasourceParameter.optional(),
  type: z.string().optional(),
  max: positiveCount.optional(),
})

/** The endpoints of tasks. */
export function taskRoutes(
  context: ServiceContext,
  runner: TaskRunner,
  access: InputAccess,
  queueNow: () => void,
): Route[] {
  const { database, settings, logger } = context

  async function list(caller: Caller, query: z.infer<typeof listQuery>, listed?: ListedState) {
    if (query.datasource !== undefined && !caller.can('READ', 'DATASOURCE', query.datasource)) {
      throw forbidden(`The permission [READ] on [DATASOURCE] [${query.datasource}] is missing`)
    }
    const state = listed ?? query.state
    const wanted: TaskQuery = {
      states: state && statesOf[state],
      waiting: state === 'waiting' ? true : state === 'pending' ? false : undefined,
      dataSources: query.datasource === undefined ? undefined : [query.datasource],
      type: query.type,
      limit: query.max ?? defaultListLength,
    }
    const mayRead = (dataSource: string) => caller.can('READ', 'DATASOURCE', dataSource)
    return (await loadReadableTasks(database, wanted, mayRead)).map(describeTask)
  }

  /**
   * Returns the task of a request. Throws forbidden if the caller may not do `action` with it, or notFound if the caller
   * may not even read it.
   */
  async function taskOf(input: RouteInput<unknown, unknown>, action: 'READ' | 'WRITE'): Promise<StoredTask> {
    const id = input.params.task as string
    const may = (wanted: 'READ' | 'WRITE') => (task: StoredTask) =>
      input.caller.can(wanted, 'DATASOURCE', task.dataSource)
    const tasks = await loadTasksShownAs(database, id)
    const allowed = tasks.find(may(action))
    if (allowed) return allowed
    const readable = input.caller.compatibility ? tasks[0] : tasks.find(may('READ'))
    if (readable)
      throw forbidden(`The permission [${action}] on [DATASOURCE] [${readable.dataSource}] is missing`)
    throw notFound(`Task [${id}] does not exist`)
  }

  async function submit({
    body,
    caller,
    isInternal,
  }: RouteInput<unknown, unknown>): Promise<{ task: string }> {
    const task = readTask(body, access)
    if (!caller.can('WRITE', 'DATASOURCE', task.dataSource)) {
      throw forbidden(`The permission [WRITE] on [DATASOURCE] [${task.dataSource}] is missing`)
    }
    if (!isInternal) assertNotScheduled(body)
    // Ids that users choose are unique among the tasks that they may read, and within a datasource. Users who may not read
    // a task that has the id get the same answer, after the same queries, as if it did not exist.
    const same = await loadTasksShownAs(database, task.id)
    const isTaken = same.some(
      ({ dataSource }) => dataSource === task.dataSource || caller.can('READ', 'DATASOURCE', dataSource),
    )
    const isChosen = !isInternal && (body as { readonly id?: unknown }).id !== undefined
    const id = isChosen ? scopedTaskId(task.id, task.dataSource) : task.id
    const isSaved =
      !isTaken && (await saveTask(database, { ...task, id, payload: body, submittedBy: caller.identity }))
    if (!isSaved) throw conflict(`Task [${task.id}] already exists`)
    logger.info('Task submitted', { task: task.id, identity: caller.identity })
    queueNow()
    return { task: task.id }
  }

  const listRoute = (name: string, summary: string, state?: ListedState): Route =>
    route({
      method: 'GET',
      path: path(`/${name}`),
      access: authenticated,
      summary,
      query: listQuery,
      answers: [jsonAnswer(z.array(taskShape))],
      // If the request names a datasource that the caller may not read.
      failures: ['forbidden'],
      handle: ({ caller, query }) => list(caller, query, state),
    })

  return [
    route({
      method: 'POST',
      path: path('/task'),
      access: statedDatasource('WRITE', 'the datasource in the body'),
      summary: 'Submit a task',
      body: jsonBody(unparsed(newTaskShape), {
        limitBytes: settings.get('svc.request.maxTaskSize'),
        maxValues: maxTaskValues,
      }),
      answers: [jsonAnswer(taskIdShape)],
      failures: ['conflict'],
      handle: submit,
    }),
    listRoute('tasks', 'List tasks, newest first'),
    listRoute('runningTasks', 'List running tasks', 'running'),
    listRoute('pendingTasks', 'List tasks that are waiting for a worker', 'pending'),
    listRoute('waitingTasks', 'List tasks that are waiting for a lock or a limit', 'waiting'),
    listRoute('completeTasks', 'List finished tasks', 'complete'),
    route({
      method: 'POST',
      path: path('/taskStatus'),
      access: state('WRITE'),
      summary: 'Return the status of several tasks by id. Tasks that the caller may not read are left out',
      body: jsonBody(parserOf(taskIdsSchema, { subject: 'list of tasks' })),
      answers: [jsonAnswer(z.record(z.string(), taskStatusShape))],
      handle: async ({ body, caller }) => {
        const found = await loadTasksShownAsAny(database, body)
        const shown = found.filter(({ dataSource }) => caller.sees(dataSource))
        // If several tasks have the same id, the newest one wins.
        return Object.fromEntries(shown.toReversed().map((task) => [task.shownId, describeTaskStatus(task)]))
      },
    }),
    route({
      method: 'GET',
      path: path('/task/:task'),
      access: statedDatasource('READ', 'the datasource of the task'),
      summary: 'Return the spec of a task',
      answers: [jsonAnswer(z.object({ task: z.string(), payload: z.looseObject({}) }))],
      handle: async (input) => {
        const { id, shownId } = await taskOf(input, 'READ')
        return { task: shownId, payload: await loadTaskPayload(database, id) }
      },
    }),
    route({
      method: 'GET',
      path: path('/task/:task/status'),
      access: statedDatasource('READ', 'the datasource of the task'),
      summary: 'Return the status of a task',
      answers: [jsonAnswer(z.object({ task: z.string(), status: taskShape }))],
      handle: async (input) => {
        const task = await taskOf(input, 'READ')
        return { task: task.shownId, status: describeTask(task) }
      },
    }),
    route({
      method: 'GET',
      path: path('/task/:task/log'),
      access: statedDatasource('READ', 'the datasource of the task'),
      summary: 'Return the log of a task. A negative offset counts from the end',
      query: z.object({ offset: z.coerce.number().int().default(0) }),
      answers: [textAnswer('text/plain')],
      handle: async (input) => {
        const { id, shownId } = await taskOf(input, 'READ')
        await sendLog(
          taskLogFile(settings.get('svc.indexer.logs.directory'), id),
          shownId,
          input.query.offset,
          input,
        )
        return streamed
      },
    }),
    route({
      method: 'POST',
      path: path('/task/:task/shutdown'),
      access: statedDatasource('WRITE', 'the datasource of the task'),
      summary: 'Shut down a task',
      answers: [jsonAnswer(taskIdShape)],
      handle: async (input) => {
        const task = await taskOf(input, 'WRITE')
        const { id } = task
        if (await cancelTask(database, id, `Shut down by [${input.caller.identity}]`)) {
          logger.info('Task shut down', { task: id, identity: input.caller.identity })
          runner.cancel(task)
        }
        return { task: task.shownId }
      },
    }),
  ]
}

/** Parses a task of any type. Throws invalidInput for the first invalid value. */
function readTask(body: unknown, access: InputAccess): Omit<NewTask, 'payload' | 'submittedBy'> {
  if (!isJsonObject(body)) throw refuse('body', body, 'a task, which is a JSON object')
  const taskType = taskTypeOf(body.type)
  const spec = taskType.parse(body, access)
  const { type, priority } = taskType
  const { dataSource, context } = spec
  const id = checkedId(spec.id) ?? taskType.newId(spec)
  return { id, groupId: spec.groupId ?? id, type, dataSource, priority: priorityOf(context, priority) }
}

/**
 * Throws invalidInput if a task has the context that only compaction may set. Compaction trusts this context when it
 * counts slots and remembers failures.
 */
function assertNotScheduled(body: unknown): void {
  const { compaction } =
    (body as { readonly context?: { readonly compaction?: unknown } | null }).context ?? {}
  if (compaction === undefined) return
  throw refuse(
    'context.compaction',
    compaction,
    'no value, because only compaction itself may set this field',
  )
}

/** Returns a task id that the caller chose. Throws invalidInput if it is not valid. */
function checkedId(id: string | undefined): string | undefined {
  if (id === undefined) return undefined
  if (id.length > maxTaskIdLength || hasControlCharacter(id))
    throw refuse('id', id, `a string of at most ${maxTaskIdLength} characters, without control characters`)
  return id
}

function priorityOf(taskContext: Readonly<Record<string, unknown>>, defaultPriority: number): number {
  const { priority = defaultPriority } = taskContext
  if (typeof priority !== 'number' || !Number.isInteger(priority) || Math.abs(priority) > 999_999) {
    throw invalidInput(
      `Invalid value [${showValue(priority)}] for [context.priority]: expected an integer from -999999 to 999999`,
    )
  }
  return priority
}

async function sendLog(
  file: string,
  taskId: string,
  offset: number,
  { response }: RouteInput<unknown, unknown>,
): Promise<void> {
  const handle = await open(file).catch(() => {
    throw notFound(`Task [${taskId}] has no log on this server yet`)
  })
  const { size } = await handle.stat()
  await handle.close()
  const start = offset < 0 ? Math.max(size + offset, 0) : Math.min(offset, size)
  response.setHeader('Content-Type', 'text/plain; charset=utf-8')
  response.setHeader('Content-Length', size - start)
  if (start === size) response.end()
  else await pipeline(createReadStream(file, { start, end: size - 1 }), response)
}
