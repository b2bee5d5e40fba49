import { formatInstant, formatInterval, type Interval, parseInstant, parseInterval } from '@svc/domain/time'
import { z } from 'zod'
import { parseJson } from '../wire/index.ts'

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

const text = z.string({ error: 'a text' }).min(1, { error: 'a text that is not empty' })

const killSchema = z.strictObject({
  type: z.literal('kill'),
  id: text.nullish(),
  dataSource: text,
  interval: text,
  versions: z.array(text, { error: 'a list of texts' }).nullish(),
  limit: z.int({ error: 'a whole number from 1' }).min(1, { error: 'a whole number from 1' }).nullish(),
  maxUsedStatusLastUpdatedTime: text.nullish(),
  context: z.record(z.string(), z.unknown()).nullish(),
})

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

/** The body of a kill task; of at most `limit` segments, and of those that became unused until a time, if told. */
export const killTask = (
  dataSource: string,
  interval: Interval,
  { limit, unusedUntil }: { readonly limit?: number; readonly unusedUntil?: number } = {},
) => ({
  type: 'kill' as const,
  dataSource,
  interval: formatInterval(interval),
  ...(limit === undefined ? {} : { limit }),
  ...(unusedUntil === undefined ? {} : { maxUsedStatusLastUpdatedTime: formatInstant(unusedUntil) }),
})
