import { formatInstant, formatInterval, type Interval, parseInstant, parseInterval } from '@svc/domain/time'
import { datasourceNameRule, hasControlCharacter, isDatasourceName } from '@svc/domain/validation'
import { z } from 'zod'
import { finishAttempt, loadTask, type NewTask, newTaskId } from '../postgres/index.ts'
import { listOf, parseJson } from '../wire/index.ts'
import { type KilledSegments, killSegments, readKillProgress } from './kill-segments.ts'
import type { TaskType } from './task-type.ts'

const type = 'kill'

/** A validated kill task. */
export interface KillSpec extends KilledSegments {
  readonly id: string | undefined
  readonly context: Readonly<Record<string, unknown>>
}

const text = z
  .string({ error: 'a string' })
  .min(1, { error: 'a non-empty string' })
  .refine((value) => !hasControlCharacter(value), { error: 'a string without control characters' })

const datasourceName = z.string({ error: 'a string' }).refine(isDatasourceName, { error: datasourceNameRule })

const count = z.int({ error: 'an integer of at least 1' }).min(1, { error: 'an integer of at least 1' })

const killSchema = z.strictObject({
  type: z.literal(type),
  id: text.nullish(),
  dataSource: datasourceName,
  interval: text,
  versions: listOf(text, { error: 'a list of strings' }).nullish(),
  // Accepted but not used: the batch size does not affect what is deleted.
  batchSize: count.nullish(),
  limit: count.nullish(),
  maxUsedStatusLastUpdatedTime: text.nullish(),
  context: z.record(z.string(), z.unknown()).nullish(),
})

/** Parses a kill task from a JSON body. Throws an invalidInput Failure that names the first invalid field. */
export function parseKillSpec(json: unknown): KillSpec {
  const task = parseJson(killSchema, json, { subject: 'task' })
  const { id, dataSource, interval, versions, limit, maxUsedStatusLastUpdatedTime, context } = task
  return {
    id: id ?? undefined,
    context: context ?? {},
    dataSource,
    interval: parseInterval(interval),
    versions: versions ?? undefined,
    limit: limit ?? undefined,
    unusedUntil:
      maxUsedStatusLastUpdatedTime == null
        ? undefined
        : parseInstant(maxUsedStatusLastUpdatedTime, 'maxUsedStatusLastUpdatedTime'),
  }
}

/** Permanent deletion of unused segments. */
export const killTask: TaskType<KillSpec> = {
  type,
  shape: killSchema.meta({ title: 'KillTask' }),
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
