import { formatInstant, formatInterval, type Interval, parseInstant, parseInterval } from '@svc/domain/time'
import { datasourceNameRule, hasControlCharacter, isDatasourceName } from '@svc/domain/validation'
import { z } from 'zod'
import type { NewTask } from '../postgres/index.ts'
import { listOf, parseJson } from '../wire/index.ts'
import { newTaskId } from './task-id.ts'

/** What a kill task erases: unused segments that lie wholly within an interval. */
export interface KillSpec {
  readonly id: string | undefined
  readonly context: Readonly<Record<string, unknown>>
  readonly dataSource: string
  readonly interval: Interval
  readonly versions: readonly string[] | undefined
  readonly limit: number | undefined
  /** Only segments that became unused until then, in epoch milliseconds. */
  readonly unusedUntil: number | undefined
}

const text = z
  .string({ error: 'a text' })
  .min(1, { error: 'a text that is not empty' })
  .refine((value) => !hasControlCharacter(value), { error: 'a text without control characters' })

const datasourceName = z.string({ error: 'a text' }).refine(isDatasourceName, { error: datasourceNameRule })

const count = z.int({ error: 'a whole number from 1' }).min(1, { error: 'a whole number from 1' })

const killSchema = z.strictObject({
  type: z.literal('kill'),
  id: text.nullish(),
  dataSource: datasourceName,
  interval: text,
  versions: listOf(text, { error: 'a list of texts' }).nullish(),
  // Taken and not needed: how many go at a time makes no difference to what is erased.
  batchSize: count.nullish(),
  limit: count.nullish(),
  maxUsedStatusLastUpdatedTime: text.nullish(),
  context: z.record(z.string(), z.unknown()).nullish(),
})

/** The shape of a kill task. */
export const killTaskShape = killSchema.meta({ title: 'KillTask' })

/** The kill task of a JSON body; the first thing that is wrong is an invalidInput failure that names it. */
export function parseKillSpec(json: unknown): KillSpec {
  const task = parseJson(killSchema, json, { subject: 'The task' })
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

/** What a new kill task is to erase, and for whom. */
export interface KillOrder {
  /** What its id begins with. */
  readonly idPrefix: string
  readonly dataSource: string
  readonly interval: Interval
  /** Segments at the most; none are all. */
  readonly limit?: number
  /** Only segments that became unused until then, in epoch milliseconds. */
  readonly unusedUntil?: number
  readonly submittedBy: string
}

/** A kill task as it is stored for the overlord, under an id that no other has. */
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
