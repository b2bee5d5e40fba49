import { formatInterval, type Interval, parseInterval } from '@svc/domain/time'
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
}

const text = z.string({ error: 'a text' }).min(1, { error: 'a text that is not empty' })

const killSchema = z.strictObject({
  type: z.literal('kill'),
  id: text.nullish(),
  dataSource: text,
  interval: text,
  versions: z.array(text, { error: 'a list of texts' }).nullish(),
  limit: z.int({ error: 'a whole number from 1' }).min(1, { error: 'a whole number from 1' }).nullish(),
  context: z.record(z.string(), z.unknown()).nullish(),
})

/** The kill task of a JSON body; the first thing that is wrong is an invalidInput failure that names it. */
export function parseKillSpec(json: unknown): KillSpec {
  const { id, dataSource, interval, versions, limit, context } = parseJson(killSchema, json, {
    subject: 'The task',
  })
  return {
    id: id ?? undefined,
    context: context ?? {},
    dataSource,
    interval: parseInterval(interval),
    versions: versions ?? undefined,
    limit: limit ?? undefined,
  }
}

/** The body of a kill task. */
export const killTask = (dataSource: string, interval: Interval) => ({
  type: 'kill' as const,
  dataSource,
  interval: formatInterval(interval),
})
