import { keptByRules } from '@svc/domain/preview'
import { planMarkUsed } from '@svc/domain/retention'
import { defaultRulesName } from '@svc/domain/rules'
import { enclosingInterval } from '@svc/domain/time'
import { converted, omittable, type Reader, refuse } from '@svc/domain/validation'
import { type AuditInfo, datasource, jsonAnswer, type Route, route } from '@svc/shared/http'
import {
  type Database,
  loadDatasourceNames,
  loadDroppedSegments,
  loadOverlapping,
  loadRulesOf,
  lockDatasource,
  lockRules,
  markUsed,
  ParsedRules,
  type RuleChanges,
  type StoredSegment,
  saveAudit,
} from '@svc/shared/postgres'
import { permittedNames } from '@svc/shared/security'
import type { ServiceContext } from '@svc/shared/service'
import { segmentsMarkedShape } from '@svc/shared/shapes'
import { integerParameter, presence, textParameter } from '@svc/shared/wire'
import * as z from 'zod'

// Segments per transaction, so that a transaction and its locks last less than a second.
const sliceSize = 2000
// A request returns after this time, with a cursor for the next one.
const maxRequestMs = 3000
const maxAuditId = 999_999_999_999_999

/** The last segment that a request has checked. */
interface Cursor {
  readonly dataSource: string
  readonly after: Pick<StoredSegment, 'interval' | 'id'>
}

const readCursor: Reader<Cursor> = converted(textParameter, (text, field) => {
  const parts: unknown = parsedJson(text)
  const isCursor =
    Array.isArray(parts) && parts.length === 3 && parts.every((part) => typeof part === 'string')
  if (!isCursor) throw refuse(field, text, 'the value of [next] in the previous response')
  const [dataSource, startMs, id] = parts as [string, string, string]
  const start = Number(startMs)
  if (Number.isNaN(start)) throw refuse(field, text, 'the value of [next] in the previous response')
  return { dataSource, after: { interval: { start, end: start }, id } }
})

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const query = {
  since: omittable(integerParameter(0, maxAuditId)),
  after: omittable(readCursor),
  ids: presence,
}

const formatCursor = ({ dataSource, after: { interval, id } }: Cursor): string =>
  JSON.stringify([dataSource, String(interval.start), id])

const answerShape = z
  .object({
    ...segmentsMarkedShape.shape,
    segmentIds: z.array(z.string()).optional().describe('The segments that were marked, with `ids`'),
    next: z
      .string()
      .nullable()
      .describe('Value of `after` for the next request; null if no segments are left'),
  })
  .meta({ title: 'KeptSegmentsMarked' })

/** Returns the endpoint that marks segments as used again if drop rules marked them as unused and the rules keep them. */
export function markKeptUsedRoute({ database, clock }: Pick<ServiceContext, 'database' | 'clock'>): Route {
  return route({
    method: 'POST',
    path: '/svc/coordinator/v1/rules/:dataSource/markUsed',
    isForRules: true,
    access: datasource('WRITE'),
    summary:
      'Mark segments as used if drop rules marked them as unused, the current rules keep them, and they are not overshadowed. `since` is the audit ID of the first rule change whose drops are undone. With `_default`, all datasources that the caller may change are included. With `ids`, the response lists the IDs of the marked segments. Returns after a few seconds; to continue, pass the value of `next` as `after`',
    query,
    answers: [jsonAnswer(answerShape)],
    handle: async ({ params, query: { since = 0, after, ids }, caller, audit }) => {
      const name = params.dataSource as string
      const isForAll = name === defaultRulesName
      const changes: RuleChanges = { of: isForAll ? 'defaultRules' : 'rules', since }
      const dataSources = isForAll
        ? (await permittedNames(caller, await loadDatasourceNames(database, true), 'WRITE')).sort()
        : [name]
      const deadline = performance.now() + maxRequestMs
      const marked: string[] = []
      const answer = (next: Cursor | undefined) => ({
        numChangedSegments: marked.length,
        segmentStateChanged: marked.length > 0,
        ...(ids ? { segmentIds: marked } : {}),
        next: next === undefined ? null : formatCursor(next),
      })
      for (const dataSource of dataSources) {
        if (after !== undefined && dataSource < after.dataSource) continue
        let last = after?.dataSource === dataSource ? after.after : undefined
        do {
          const slice = await markSlice(database, dataSource, changes, last, audit, clock.now())
          for (const id of slice.marked) marked.push(id)
          last = slice.last
          if (last !== undefined && performance.now() > deadline) return answer({ dataSource, after: last })
        } while (last !== undefined)
      }
      return answer(undefined)
    },
  })
}

/** Marks a slice of the segments of a datasource as used. Returns their IDs, and the last segment unless none are left. */
async function markSlice(
  database: Database,
  dataSource: string,
  changes: RuleChanges,
  after: Cursor['after'] | undefined,
  audit: AuditInfo,
  now: number,
): Promise<{ readonly marked: readonly string[]; readonly last: StoredSegment | undefined }> {
  return await database.transaction(async (transaction) => {
    await lockDatasource(transaction, dataSource)
    // The rules must not change before the segments are marked.
    await lockRules(transaction, [dataSource, defaultRulesName])
    const rules = await loadRulesOf(transaction, dataSource, new ParsedRules())
    const keep = (segments: readonly StoredSegment[]): StoredSegment[] => {
      const lists = { own: rules.get(dataSource) ?? [], defaults: rules.get(defaultRulesName) ?? [] }
      return keptByRules(segments, { ...lists, now })
    }
    const dropped = await loadDroppedSegments(transaction, dataSource, changes, { after, limit: sliceSize })
    const last = dropped.length < sliceSize ? undefined : dropped.at(-1)
    const kept = keep(dropped)
    const overlapping = enclosingInterval(kept.map(({ interval }) => interval))
    if (overlapping === undefined) return { marked: [], last }
    const present = await loadOverlapping(transaction, dataSource, overlapping)
    // Segments of other slices can overshadow those of this one.
    const others = await loadDroppedSegments(transaction, dataSource, changes, { overlapping })
    const ids = new Set(kept.map(({ id }) => id))
    const around = [...present.filter(({ used }) => used), ...keep(others).filter(({ id }) => !ids.has(id))]
    const marked = planMarkUsed(kept, around)
    await markUsed(transaction, marked, now)
    if (marked.length > 0) {
      const payload = JSON.stringify({ markUsed: marked.length })
      await saveAudit(transaction, { ...audit, type: 'segments', key: dataSource, payload }, now)
    }
    return { marked, last }
  })
}
