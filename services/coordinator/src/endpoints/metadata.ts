import { invalidInput, notFound } from '@svc/domain/failure'
import { jsonList, jsonListOf } from '@svc/domain/json'
import { parseSegmentId } from '@svc/domain/segment'
import { formatInstant, readInterval } from '@svc/domain/time'
import {
  converted,
  described,
  omittable,
  readDatasourceName,
  readList,
  readOneOf,
  refuse,
} from '@svc/domain/validation'
import {
  authenticated,
  datasource,
  JsonPieces,
  jsonAnswer,
  jsonBody,
  type Route,
  route,
} from '@svc/shared/http'
import {
  type Database,
  loadDatasourceNames,
  loadOverlapping,
  loadPayloads,
  loadSegmentRecords,
  pagesOfUsedSegments,
} from '@svc/shared/postgres'
import { type Caller, permittedNames } from '@svc/shared/security'
import { namesShape, segmentShape } from '@svc/shared/shapes'
import { positiveCount, presence, severalOf, textParameter } from '@svc/shared/wire'
import * as z from 'zod'
import { continued, datasourceShape, fullDatasource, payloadsWithStatus } from '../answers/index.ts'
import type { ClusterView } from '../cluster-view.ts'
import { pathInterval } from './datasources.ts'

const base = '/svc/coordinator/v1/metadata'
const fullOnly = { full: presence }
const names = omittable(converted(severalOf(readDatasourceName), (given) => new Set(given)))

const flagParameter = omittable(
  converted(readOneOf(['true', 'false']), (value) => value === 'true'),
  false,
)
const sortOrder = described({ type: 'string' }, (value, field) =>
  readOneOf(['ASC', 'DESC'])(typeof value === 'string' ? value.toUpperCase() : value, field),
)
const maxIntervals = 1000
const readIntervals = readList(readInterval, {
  max: maxIntervals,
  expected: `a list of at most [${maxIntervals}] intervals`,
})

const idsOrSegmentsShape = z.union([namesShape, z.array(segmentShape)])
const segmentWithStatusShape = segmentShape
  .extend({
    overshadowed: z.boolean().optional(),
    replicationFactor: z.int().optional(),
    numRows: z.int().optional(),
    realtime: z.boolean().optional(),
  })
  .meta({
    title: 'SegmentWithStatus',
    description: 'Status fields, such as `overshadowed`, are included only with `includeOvershadowedStatus`',
  })
const unusedSegmentShape = z
  .object({
    dataSegment: segmentShape,
    createdDate: z.string(),
    usedStatusLastUpdatedDate: z.string(),
    used: z.boolean(),
    schemaFingerprint: z.string().nullable(),
    numRows: z.int(),
    upgradedFromSegmentId: z.string().nullable(),
    indexingStateFingerprint: z.string().nullable(),
  })
  .meta({ title: 'UnusedSegment' })

/** Returns the endpoints that show segments of the metadata store, whether they are served or not. */
export function metadataRoutes(view: ClusterView): Route[] {
  const { database } = view.context
  return [
    ...datasourceListRoutes(database),
    usedSegmentsRoute(database, view),
    ...segmentsOfDatasourceRoutes(database),
    unusedSegmentsRoute(database),
  ]
}

/** The datasources, on request with their used segments. */
function datasourceListRoutes(database: Database): Route[] {
  return [
    route({
      method: 'GET',
      path: `${base}/datasources`,
      access: authenticated,
      summary: 'List the datasources with used segments; `full` adds their segments',
      query: { full: presence, includeUnused: presence },
      answers: [jsonAnswer(z.union([namesShape, z.array(datasourceShape)]))],
      handle: async ({ caller, query }) => {
        const readable = await readableNames(database, caller, query.includeUnused)
        // Like Druid 37, which lists only names where unused segments are included.
        if (!query.full || query.includeUnused) return readable
        return new JsonPieces(
          jsonListOf(readable.map((name) => fullDatasource(name, payloadsOf(database, name)))),
        )
      },
    }),
    route({
      method: 'GET',
      path: `${base}/datasources/:dataSource`,
      access: datasource('READ'),
      summary: 'Get a datasource with its used segments',
      answers: [jsonAnswer(datasourceShape)],
      handle: async ({ params }) => {
        const name = params.dataSource as string
        const payloads = await usedSegmentsOf(name, payloadsOf(database, name))
        return new JsonPieces(fullDatasource(name, payloads))
      },
    }),
  ]
}

/** The used segments of all or some datasources. */
const usedSegmentsRoute = (
  database: Database,
  view: Pick<ClusterView, 'context' | 'segments' | 'servers' | 'rules'>,
): Route =>
  route({
    method: 'GET',
    path: `${base}/segments`,
    access: authenticated,
    summary: 'List the used segments of all or some datasources, optionally with their overshadowed status',
    query: { datasources: names, includeOvershadowedStatus: presence, includeRealtimeSegments: presence },
    answers: [jsonAnswer(z.array(segmentWithStatusShape))],
    handle: async ({ caller, query }) => {
      if (query.includeRealtimeSegments && !query.includeOvershadowedStatus)
        throw invalidInput(
          'Parameter [includeRealtimeSegments] is only allowed with [includeOvershadowedStatus]',
        )
      const readable = (await readableNames(database, caller)).filter(
        (name) => query.datasources?.has(name) ?? true,
      )
      if (query.includeOvershadowedStatus) await view.segments.refresh()
      const pages = async function* () {
        for (const name of readable)
          yield* query.includeOvershadowedStatus ? payloadsWithStatus(view, name) : payloadsOf(database, name)
      }
      return new JsonPieces(jsonList(pages()))
    },
  })

/** The used segments of one datasource: all, those in intervals, or one. */
function segmentsOfDatasourceRoutes(database: Database): Route[] {
  return [
    route({
      method: 'GET',
      path: `${base}/datasources/:dataSource/segments`,
      access: datasource('READ'),
      summary: 'List the IDs of the used segments of a datasource; `full` returns their metadata',
      query: fullOnly,
      answers: [jsonAnswer(idsOrSegmentsShape)],
      handle: async ({ params, query }) => {
        const dataSource = params.dataSource as string
        const texts = query.full ? payloadsOf(database, dataSource) : idTextsOf(database, dataSource)
        return new JsonPieces(jsonList(await usedSegmentsOf(dataSource, texts)))
      },
    }),
    route({
      method: 'POST',
      path: `${base}/datasources/:dataSource/segments`,
      access: datasource('READ'),
      summary:
        'List the IDs of the used segments that overlap the given intervals; `full` returns their metadata',
      query: fullOnly,
      body: jsonBody(readIntervals),
      answers: [jsonAnswer(idsOrSegmentsShape)],
      handle: async ({ params, query, body }) => {
        const dataSource = params.dataSource as string
        const found = new Set<string>()
        for (const interval of body) {
          for (const { id, used } of await loadOverlapping(database, dataSource, interval))
            if (used) found.add(id)
        }
        const ids = [...found].sort()
        return query.full ? [...(await loadPayloads(database, ids)).values()] : ids
      },
    }),
    route({
      method: 'GET',
      path: `${base}/datasources/:dataSource/segments/:segment`,
      access: datasource('READ'),
      summary: 'Get the metadata of a used segment or, on request, of an unused one',
      query: { includeUnused: flagParameter },
      answers: [jsonAnswer(segmentShape)],
      handle: async ({ params, query }) => {
        const { dataSource = '', segment = '' } = params
        checkSegmentId('segment', segment, dataSource)
        const used = query.includeUnused ? undefined : true
        const [found] = await loadSegmentRecords(database, { dataSource, ids: [segment], used })
        if (!found) throw notFound(`Segment [${segment}] does not exist in datasource [${dataSource}]`)
        return found.payload
      },
    }),
  ]
}

/** Throws if no segment of the datasource can have this ID. */
function checkSegmentId(field: string, id: string, dataSource: string): void {
  if (!parseSegmentId(dataSource, id))
    throw refuse(field, id, `the ID of a segment of datasource [${dataSource}]`)
}

const unusedQuery = {
  interval: omittable(textParameter),
  limit: omittable(positiveCount()),
  lastSegmentId: omittable(textParameter),
  sortOrder: omittable(sortOrder, 'ASC'),
}

/** The unused segments of one datasource. */
const unusedSegmentsRoute = (database: Database): Route =>
  route({
    method: 'GET',
    path: `${base}/datasources/:dataSource/unusedSegments`,
    access: datasource('READ'),
    summary:
      'List the unused segments of a datasource; pass a limit and the last segment ID to page through them',
    query: unusedQuery,
    answers: [jsonAnswer(z.array(unusedSegmentShape))],
    handle: async ({ params: { dataSource = '' }, query }) => {
      const { lastSegmentId } = query
      if (lastSegmentId !== undefined) checkSegmentId('lastSegmentId', lastSegmentId, dataSource)
      const records = await loadSegmentRecords(database, {
        dataSource,
        used: false,
        within: query.interval === undefined ? undefined : pathInterval(query.interval),
        after: lastSegmentId,
        limit: query.limit,
        order: query.sortOrder,
      })
      return records.map(({ payload, used, createdAt, usedChangedAt }) => ({
        dataSegment: payload,
        createdDate: formatInstant(createdAt),
        usedStatusLastUpdatedDate: formatInstant(usedChangedAt),
        used,
        schemaFingerprint: null,
        numRows: payload.totalRows,
        upgradedFromSegmentId: null,
        indexingStateFingerprint: null,
      }))
    },
  })

/** Returns the datasources of the metadata store that the caller may read. */
const readableNames = async (database: Database, caller: Caller, includeUnused = false): Promise<string[]> =>
  await permittedNames(caller, await loadDatasourceNames(database, includeUnused))

async function* payloadsOf(database: Database, dataSource: string): AsyncGenerator<string[]> {
  for await (const page of pagesOfUsedSegments(database, dataSource)) yield page.map(({ text }) => text)
}

async function* idTextsOf(database: Database, dataSource: string): AsyncGenerator<string[]> {
  for await (const page of pagesOfUsedSegments(database, dataSource))
    yield page.map(({ id }) => JSON.stringify(id))
}

/** Returns the same texts of the used segments of a datasource. Throws notFound if there are none. */
async function usedSegmentsOf(
  dataSource: string,
  texts: AsyncGenerator<string[]>,
): Promise<AsyncGenerator<string[]>> {
  const first = await texts.next()
  if (first.done) throw notFound(`Datasource [${dataSource}] has no used segments`)
  return continued(first.value, texts)
}
