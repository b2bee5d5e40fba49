import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { conflict, forbidden, invalidInput, notFound } from '@svc/domain/failure'
import { hasControlCharacter, refuse, showValue } from '@svc/domain/validation'
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
import { type InputAccess, indexTaskShape, parseIndexSpec } from '@svc/shared/ingestion'
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
import {
  compactTaskSchema,
  killTaskShape,
  newTaskId,
  parseCompactSpec,
  parseKillSpec,
} from '@svc/shared/tasks'
import { datasourceParameter, listOf, parserOf, positiveCount, shapeOf, unparsed } from '@svc/shared/wire'
import { z } from 'zod'
import { describeTask, describeTaskStatus, taskShape, taskStatusShape } from './task-status.ts'

const path = (rest: string): string => `/svc/indexer/v1${rest}`

// Tasks that a list shows at the most where no number is asked for.
const defaultListLength = 1000
// The recorded system's default priorities.
const ingestionPriority = 50
const compactionPriority = 25
const killPriority = 0
const longestTaskId = 255
const taskTypes = ['index_parallel', 'compact', 'kill']

const statesOf = {
  running: ['RUNNING'],
  pending: ['PENDING'],
  waiting: ['PENDING'],
  complete: ['SUCCESS', 'FAILED'],
} as const satisfies Record<string, readonly TaskState[]>

type ListedState = keyof typeof statesOf

const mostTasksAtOnce = 1000
// The segments that a compact task names are the most of it.
const maxTaskValues = 250_000
const taskIdsSchema = listOf(z.string({ error: 'the id of a task' }), {
  error: 'a list of ids of tasks',
  max: mostTasksAtOnce,
  tooLong: `at most ${mostTasksAtOnce} ids`,
})

const taskIdShape = z.object({ task: z.string() })
const newTaskShape = z.union([indexTaskShape, shapeOf(compactTaskSchema()), killTaskShape])

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

  /** The task of a request, if the caller may do `action` with it; one it may not even read does not exist for it. */
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
    if (!isSaved) throw conflict(`Task [${task.id}] exists already`)
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
      // Of a datasource that is asked for by its name.
      failures: ['forbidden'],
      handle: ({ caller, query }) => list(caller, query, state),
    })

  return [
    route({
      method: 'POST',
      path: path('/task'),
      access: statedDatasource('WRITE', 'the datasource that the body names'),
      summary: 'Submits a task',
      body: jsonBody(unparsed(newTaskShape), {
        limitBytes: settings.get('svc.request.maxTaskSize'),
        maxValues: maxTaskValues,
      }),
      answers: [jsonAnswer(taskIdShape)],
      failures: ['conflict'],
      handle: submit,
    }),
    listRoute('tasks', 'Tasks, newest first'),
    listRoute('runningTasks', 'Tasks that a worker works on', 'running'),
    listRoute('pendingTasks', 'Tasks that wait for a worker', 'pending'),
    listRoute('waitingTasks', 'Tasks that wait for a lock or a limit', 'waiting'),
    listRoute('completeTasks', 'Tasks that are over', 'complete'),
    route({
      method: 'POST',
      path: path('/taskStatus'),
      access: state('WRITE'),
      summary:
        'How far several tasks have come, by their ids; those that the caller may not read are left out',
      body: jsonBody(parserOf(taskIdsSchema, { subject: 'list of tasks' })),
      answers: [jsonAnswer(z.record(z.string(), taskStatusShape))],
      handle: async ({ body, caller }) => {
        const found = await loadTasksShownAsAny(database, body)
        const shown = found.filter(({ dataSource }) => caller.sees(dataSource))
        // Of several tasks with the same id the newest one stays.
        return Object.fromEntries(shown.toReversed().map((task) => [task.shownId, describeTaskStatus(task)]))
      },
    }),
    route({
      method: 'GET',
      path: path('/task/:task'),
      access: statedDatasource('READ', 'the datasource of the task'),
      summary: 'What a task was asked to do',
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
      summary: 'How far a task has come',
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
      summary: 'The log of a task; a negative offset counts from its end',
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
      summary: 'Ends a task',
      answers: [jsonAnswer(taskIdShape)],
      handle: async (input) => {
        const task = await taskOf(input, 'WRITE')
        const { id } = task
        if (await cancelTask(database, id, `Ended by [${input.caller.identity}]`)) {
          logger.info('Task shut down', { task: id, identity: input.caller.identity })
          runner.cancel(task)
        }
        return { task: task.shownId }
      },
    }),
  ]
}

/** The task of a body, whatever its type; the first thing that is wrong is a failure that names it. */
function readTask(body: unknown, access: InputAccess): Omit<NewTask, 'payload' | 'submittedBy'> {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw refuse('body', body, 'a task, which is an object')
  const { type } = body as { readonly type?: unknown }
  if (type === 'kill') {
    const spec = parseKillSpec(body)
    const id = checkedId(spec.id) ?? newTaskId('kill', spec.dataSource, spec.interval)
    return {
      id,
      groupId: id,
      type,
      dataSource: spec.dataSource,
      priority: priorityOf(spec.context, killPriority),
    }
  }
  if (type === 'compact') {
    const spec = parseCompactSpec(body)
    const id = checkedId(spec.id) ?? newTaskId('compact', spec.dataSource)
    const priority = priorityOf(spec.context, compactionPriority)
    return { id, groupId: spec.groupId ?? id, type, dataSource: spec.dataSource, priority }
  }
  if (type !== 'index_parallel') throw refuse('type', type, `one of ${taskTypes.join(', ')}`)
  const spec = parseIndexSpec(body, access)
  const id = checkedId(spec.id) ?? newTaskId('index_parallel', spec.dataSource)
  const priority = priorityOf(spec.context, ingestionPriority)
  return { id, groupId: spec.groupId ?? id, type: 'index_parallel', dataSource: spec.dataSource, priority }
}

/** What compaction notes in its own tasks is believed when slots are counted and failures are remembered. */
function assertNotScheduled(body: unknown): void {
  const { compaction } =
    (body as { readonly context?: { readonly compaction?: unknown } | null }).context ?? {}
  if (compaction === undefined) return
  throw refuse('context.compaction', compaction, 'nothing: it is for tasks that compaction itself submits')
}

/** An id that the caller has chosen. */
function checkedId(id: string | undefined): string | undefined {
  if (id === undefined) return undefined
  if (id.length > longestTaskId || hasControlCharacter(id))
    throw refuse('id', id, `a string of at most ${longestTaskId} characters, without control characters`)
  return id
}

function priorityOf(taskContext: Readonly<Record<string, unknown>>, usual: number): number {
  const { priority = usual } = taskContext
  if (typeof priority !== 'number' || !Number.isInteger(priority) || Math.abs(priority) > 999_999) {
    throw invalidInput(
      `Field [context.priority] is [${showValue(priority)}]; expected an integer from -999999 to 999999`,
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
    throw notFound(`Task [${taskId}] has no log here yet`)
  })
  const { size } = await handle.stat()
  await handle.close()
  const start = offset < 0 ? Math.max(size + offset, 0) : Math.min(offset, size)
  response.setHeader('Content-Type', 'text/plain; charset=utf-8')
  response.setHeader('Content-Length', size - start)
  if (start === size) response.end()
  else await pipeline(createReadStream(file, { start, end: size - 1 }), response)
}
