import { conflict, invalidInput } from '@svc/domain/failure'
import {
  hasControlCharacter,
  isJsonObject,
  maxNameLength,
  readLater,
  refuse,
  showValue,
} from '@svc/domain/validation'
import { jsonAnswer, jsonBody, type Route, type RouteInput, route, statedDatasource } from '@svc/shared/http'
import type { InputAccess } from '@svc/shared/ingestion'
import { loadTasksShownAs, type NewTask, saveTask, scopedTaskId } from '@svc/shared/postgres'
import { assertAccess, permittedItems } from '@svc/shared/security'
import type { ServiceContext } from '@svc/shared/service'
import { taskTypeOf, taskTypes } from '@svc/shared/tasks'
import { taskIdShape } from './task-status.ts'

// A compact task may name many segments, which are most of its values.
const maxTaskValues = 250_000

type Context = Pick<ServiceContext, 'database' | 'settings' | 'logger'>

/** The endpoint that accepts tasks of all types. */
export const submitTaskRoute = (context: Context, access: InputAccess, queueNow: () => void): Route =>
  route({
    method: 'POST',
    path: '/svc/indexer/v1/task',
    access: statedDatasource('WRITE', 'the datasource in the body'),
    summary: 'Submit a task',
    body: jsonBody(
      readLater(() => ({ anyOf: taskTypes.map(({ schema }) => schema()) })),
      {
        limitBytes: context.settings.get('svc.request.maxTaskSize'),
        maxValues: maxTaskValues,
      },
    ),
    answers: [jsonAnswer(taskIdShape)],
    failures: ['conflict'],
    handle: async (input) => {
      const id = await submit(context, access, input)
      queueNow()
      return { task: id }
    },
  })

/** Stores a task. Returns the id that users see. */
async function submit(
  { database, logger }: Context,
  access: InputAccess,
  { body, caller, isInternal }: RouteInput<unknown, unknown>,
): Promise<string> {
  const task = readTask(body, access)
  await assertAccess(caller, task.dataSource, 'WRITE')
  if (!isInternal) assertNotScheduled(body)
  // Ids that users choose are unique among the tasks that they may read, and within a datasource. Users who may not read
  // a task that has the id get the same answer, after the same queries, as if it did not exist.
  const same = await loadTasksShownAs(database, task.id)
  const readable = await permittedItems(caller, same, ({ dataSource }) => dataSource)
  const isTaken = readable.length > 0 || same.some(({ dataSource }) => dataSource === task.dataSource)
  const isChosen = !isInternal && (body as { readonly id?: unknown }).id !== undefined
  const id = isChosen ? scopedTaskId(task.id, task.dataSource) : task.id
  const isSaved =
    !isTaken && (await saveTask(database, { ...task, id, payload: body, submittedBy: caller.identity }))
  if (!isSaved) throw conflict(`Task [${task.id}] already exists`)
  logger.info('Task submitted', { task: task.id, identity: caller.identity })
  return task.id
}

/** Parses a task of any type. Throws invalidInput for the first invalid value. */
function readTask(body: unknown, access: InputAccess): Omit<NewTask, 'payload' | 'submittedBy'> {
  if (!isJsonObject(body)) throw refuse('body', body, 'a task (a JSON object)')
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
  throw refuse('context.compaction', compaction, 'no value, because this field is reserved for compaction')
}

/** Returns a task id that the caller chose. Throws invalidInput if it is not valid. */
function checkedId(id: string | undefined): string | undefined {
  if (id === undefined) return undefined
  if (id.length > maxNameLength || hasControlCharacter(id))
    throw refuse('id', id, `a string of at most ${maxNameLength} characters, without control characters`)
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
