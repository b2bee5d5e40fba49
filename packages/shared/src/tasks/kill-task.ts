import { formatInstant, formatInterval, type Interval, readInstant, readInterval } from '@svc/domain/time'
import {
  checked,
  described,
  hasControlCharacter,
  optional,
  readAnyObject,
  readCount,
  readDatasourceName,
  readFields,
  readList,
  readListingProblems,
  readOneOf,
  readText,
  schemaOf,
  titled,
} from '@svc/domain/validation'
import { finishAttempt, loadTask, type NewTask, newTaskId } from '../postgres/index.ts'
import { type KilledSegments, killSegments, readKillProgress } from './kill-segments.ts'
import type { TaskType } from './task-type.ts'

const type = 'kill'

/** A validated kill task. */
export interface KillSpec extends KilledSegments {
  readonly id: string | undefined
  readonly context: Readonly<Record<string, unknown>>
}

const readPlainText = described(
  { type: 'string', minLength: 1 },
  checked(
    checked(readText, (text) => text !== '', 'a non-empty string'),
    (text) => !hasControlCharacter(text),
    'a string without control characters',
  ),
)

const readKillTask = titled(
  'KillTask',
  readFields({
    type: readOneOf([type]),
    id: optional(readPlainText),
    dataSource: readDatasourceName,
    interval: readInterval,
    versions: optional(readList(readPlainText)),
    // Accepted but not used: the batch size does not affect what is deleted.
    batchSize: optional(readCount(1)),
    limit: optional(readCount(1)),
    maxUsedStatusLastUpdatedTime: optional(readInstant),
    context: optional(readAnyObject, {}),
  }),
)

/** Parses a kill task from a JSON body. Throws an invalidInput Failure that names the invalid fields. */
export function parseKillSpec(json: unknown): KillSpec {
  const task = readListingProblems(readKillTask, json)
  const { id, dataSource, interval, versions, limit, maxUsedStatusLastUpdatedTime, context } = task
  return {
    id: id ?? undefined,
    context,
    dataSource,
    interval,
    versions: versions ?? undefined,
    limit: limit ?? undefined,
    unusedUntil: maxUsedStatusLastUpdatedTime ?? undefined,
  }
}

/** Permanent deletion of unused segments. */
export const killTask: TaskType<KillSpec> = {
  type,
  schema: () => schemaOf(readKillTask),
  priority: 0,
  parse: parseKillSpec,
  newId: ({ dataSource, interval }) => newTaskId(type, dataSource, interval),
  lock: ({ interval }) => interval,
  run: async (spec, { taskId, attempt, claimMs, database, deepStorage, logger, signal }) => {
    const earlier = readKillProgress((await loadTask(database, taskId))?.progress)
    const claim = { taskId, attempt, claimMs }
    const erased = await killSegments(database, deepStorage, claim, spec, earlier, signal)
    if (erased === undefined) return
    await finishAttempt(database, taskId, attempt, { state: 'SUCCESS', errorMessage: null })
    logger.info('Task succeeded', { task: taskId, attempt, erasedSegments: erased })
  },
}

/** What a new kill task must delete, and who submitted it. */
export interface KillOrder {
  /** Prefix of the task ID. */
  readonly idPrefix: string
  readonly dataSource: string
  readonly interval: Interval
  /** Max segments; all if undefined. */
  readonly limit?: number
  /** Only segments that became unused at or before this time, in epoch milliseconds. */
  readonly unusedUntil?: number
  readonly submittedBy: string
}

/** Returns a kill task as stored for the overlord, with a unique ID. */
export function newKillTask(order: KillOrder): NewTask {
  const { idPrefix, dataSource, interval, limit, unusedUntil, submittedBy } = order
  const id = newTaskId(idPrefix, dataSource, interval)
  const payload = {
    type,
    dataSource,
    interval: formatInterval(interval),
    ...(limit === undefined ? {} : { limit }),
    ...(unusedUntil === undefined ? {} : { maxUsedStatusLastUpdatedTime: formatInstant(unusedUntil) }),
  }
  return { id, groupId: id, type, dataSource, priority: killTask.priority, payload, submittedBy }
}
