import { formatInstant, formatInterval, type Interval, parseInstant, parseInterval } from '@svc/domain/time'
import { datasourceNameRule, hasControlCharacter, isDatasourceName } from '@svc/domain/validation'
import { z } from 'zod'
import type { NewTask } from '../postgres/index.ts'
import { listOf, parseJson } from '../wire/index.ts'
import { newTaskId } from './task-id.ts'

/** What a kill task deletes: unused segments entirely within an interval. */
export interface KillSpec {
  readonly id: string | undefined
  readonly context: Readonly<Record<string, unknown>>
  readonly dataSource: string
  readonly interval: Interval
  readonly versions: readonly string[] | undefined
  readonly limit: number | undefined
  /** Only segments that became unused at or before this time, in epoch milliseconds. */
  readonly unusedUntil: number | undefined
}

const text = z
  .string({ error: 'a string' })
  .min(1, { error: 'a non-empty string' })
  .refine((value) => !hasControlCharacter(value), { error: 'a string without control characters' })

const datasourceName = z.string({ error: 'a string' }).refine(isDatasourceName, { error: datasourceNameRule })

const count = z.int({ error: 'an integer of at least 1' }).min(1, { error: 'an integer of at least 1' })

const killSchema = z.strictObject({
  type: z.literal('kill'),
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

/** Schema of a kill task. */
export const killTaskShape = killSchema.meta({ title: 'KillTask' })

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
    type: 'kill',
    dataSource,
    interval: formatInterval(interval),
    ...(limit === undefined ? {} : { limit }),
    ...(unusedUntil === undefined ? {} : { maxUsedStatusLastUpdatedTime: formatInstant(unusedUntil) }),
  }
  return { id, groupId: id, type: 'kill', dataSource, priority: 0, payload, submittedBy }
}
