import { jsonList, jsonListOf } from '@svc/domain/json'
import { parseSegmentId } from '@svc/domain/segment'
import { contains, formatInstant, type Interval, parseInterval } from '@svc/domain/time'
import {
  authenticated,
  datasource,
  JsonPieces,
  jsonAnswer,
  noContent,
  Reply,
  type Route,
  route,
} from '@svc/shared/http'
import { type Database, loadPayloads } from '@svc/shared/postgres'
import { type Caller, permittedNames } from '@svc/shared/security'
import { namesShape, segmentShape } from '@svc/shared/shapes'
import { presence } from '@svc/shared/wire'
import * as z from 'zod'
import {
  createServedReader,
  datasourceShape,
  datasourceSizesShape,
  fullDatasource,
  idsOf,
  intervalsShape,
  type ServedReader,
  servedSegmentShape,
  sizeAndCountShape,
} from '../answers/index.ts'
import type { ClusterView } from '../cluster-view.ts'
import type { SegmentInventory, ServedTogether, ServerInventory } from '../inventory/index.ts'
import { atLeader } from '../leadership/index.ts'

const base = '/svc/coordinator/v1'
const detail = { simple: presence, full: presence }

const datasourceSummaryShape = z
  .object({ name: z.string(), properties: datasourceSizesShape })
  .meta({ title: 'DatasourceSummary' })

/** Like Druid 37, return no content if no segment of a datasource is served. */
const nothing = new Reply(204)

/** Returns the endpoints that show the served segments by datasource and interval. */
export function datasourceRoutes({ context, leadership, segments, servers }: ClusterView): Route[] {
  const { database } = context
  const reader = createServedReader(database, segments, servers)
  return [
    ...overviewRoutes(reader, segments),
    ...intervalsOfDatasourceRoutes(reader, segments),
    ...segmentsOfDatasourceRoutes(reader, segments, servers, database),
    ...allIntervalsRoutes(reader, segments),
  ].map((one) => atLeader(leadership, context, one))
}

/** The datasources with their sizes, segments, and tiers. */
function overviewRoutes(reader: ServedReader, segments: SegmentInventory): Route[] {
  return [
    route({
      method: 'GET',
      path: `${base}/datasources`,
      access: authenticated,
      summary: 'List the served datasources; `simple` adds their sizes, and `full` adds their segments',
      query: detail,
      answers: [
        jsonAnswer(z.union([namesShape, z.array(z.union([datasourceSummaryShape, datasourceShape]))])),
      ],
      handle: async ({ caller, query }) => {
        await segments.refresh()
        const names = await readableNames(segments, caller)
        if (query.full) {
          const members = async function* () {
            for (const name of names) {
              const served = await reader.ofOne(name)
              if (served) yield fullDatasource(name, reader.payloads(served))
            }
          }
          return new JsonPieces(jsonListOf(members()))
        }
        const found: { readonly name: string; readonly properties: object }[] = []
        for (const name of names) {
          const served = await reader.ofOne(name)
          if (served) found.push({ name, properties: query.simple ? await describe(served) : {} })
        }
        return query.simple ? found : found.map(({ name }) => name)
      },
    }),
    route({
      method: 'GET',
      path: `${base}/datasources/:dataSource`,
      access: datasource('READ'),
      summary: 'Get the size of the served segments of a datasource; `full` returns the segments instead',
      query: detail,
      answers: [
        jsonAnswer(z.union([datasourceSizesShape, datasourceShape])),
        noContent('No segments of the datasource are served'),
      ],
      handle: async ({ params, query }) => {
        await segments.refresh()
        const served = await reader.ofOne(params.dataSource)
        if (!served) return nothing
        return query.full
          ? new JsonPieces(fullDatasource(params.dataSource as string, reader.payloads(served)))
          : await describe(served)
      },
    }),
    route({
      method: 'GET',
      path: `${base}/datasources/:dataSource/tiers`,
      access: datasource('READ'),
      summary: 'List the tiers that serve a datasource',
      answers: [jsonAnswer(namesShape)],
      handle: async ({ params }) => {
        await segments.refresh()
        const found = new Set<string>()
        for await (const together of reader.of([params.dataSource as string]))
          for (const { tiers } of together) for (const tier of tiers.keys()) found.add(tier)
        return [...found].sort()
      },
    }),
  ]
}

/** The intervals of one datasource. */
function intervalsOfDatasourceRoutes(reader: ServedReader, segments: SegmentInventory): Route[] {
  return [
    route({
      method: 'GET',
      path: `${base}/datasources/:dataSource/intervals`,
      access: datasource('READ'),
      summary:
        'List the served intervals of a datasource, newest first; `simple` adds their sizes, and `full` adds their segments',
      query: detail,
      answers: [jsonAnswer(intervalsShape), noContent('No segments of the datasource are served')],
      handle: async ({ params, query }) => {
        await segments.refresh()
        const served = await reader.ofOne(params.dataSource, true)
        return served ? await reader.intervals(served, query) : nothing
      },
    }),
    route({
      method: 'GET',
      path: `${base}/datasources/:dataSource/intervals/:interval`,
      access: datasource('READ'),
      summary:
        'List the served segments within an interval (format: `start_end`); `simple` returns sizes by interval, `full` adds servers',
      query: detail,
      answers: [jsonAnswer(intervalsShape), noContent('No segments of the datasource are served')],
      handle: async ({ params, query }) => {
        const wanted = pathInterval(params.interval as string)
        const showsIntervals = query.simple || query.full
        await segments.refresh()
        const served = await reader.ofOne(params.dataSource, showsIntervals)
        if (!served) return nothing
        const found = within(served, (interval) => contains(wanted, interval))
        return showsIntervals
          ? await reader.intervals(found, query)
          : new JsonPieces(jsonList(idTextsOf(found)))
      },
    }),
  ]
}

/** The segments of one datasource. */
function segmentsOfDatasourceRoutes(
  reader: ServedReader,
  segments: SegmentInventory,
  servers: ServerInventory,
  database: Database,
): Route[] {
  return [
    route({
      method: 'GET',
      path: `${base}/datasources/:dataSource/segments`,
      access: datasource('READ'),
      summary: 'List the IDs of the served segments of a datasource; `full` returns their metadata',
      query: detail,
      answers: [
        jsonAnswer(z.union([namesShape, z.array(segmentShape)])),
        noContent('No segments of the datasource are served'),
      ],
      handle: async ({ params, query }) => {
        await segments.refresh()
        const served = await reader.ofOne(params.dataSource)
        if (!served) return nothing
        return new JsonPieces(jsonList(query.full ? reader.payloads(served) : idTextsOf(served)))
      },
    }),
    route({
      method: 'GET',
      path: `${base}/datasources/:dataSource/segments/:segment`,
      access: datasource('READ'),
      summary: 'Get a segment and the servers that serve it',
      answers: [jsonAnswer(servedSegmentShape), noContent('No server serves the segment')],
      handle: async ({ params }) => {
        const { dataSource = '', segment: id = '' } = params
        if (!parseSegmentId(dataSource, id)) return nothing
        await segments.refresh()
        const row = segments.table.rowOf(id)
        const holders = segments.table.isUsed(row) ? servers.holdersOf(row) : []
        if (holders.length === 0) return nothing
        const payloads = await loadPayloads(database, [id])
        return { metadata: payloads.get(id) ?? null, servers: holders.map(({ name }) => name) }
      },
    }),
  ]
}

/** The intervals of all datasources that the caller may read. */
function allIntervalsRoutes(reader: ServedReader, segments: SegmentInventory): Route[] {
  const byDatasourceShape = z.record(
    z.string(),
    z.record(z.string(), z.union([sizeAndCountShape, z.record(z.string(), servedSegmentShape)])),
  )
  return [
    route({
      method: 'GET',
      path: `${base}/intervals`,
      access: authenticated,
      summary:
        'List all served intervals, with sizes by datasource; with `full`, lists the segments instead of the sizes',
      query: detail,
      answers: [jsonAnswer(byDatasourceShape)],
      handle: async ({ caller, query }) => {
        await segments.refresh()
        const served = reader.of(await readableNames(segments, caller), true)
        return new JsonPieces(reader.intervalsByDatasource(served, query.full))
      },
    }),
    route({
      method: 'GET',
      path: `${base}/intervals/:interval`,
      access: authenticated,
      summary:
        'Get the total size of the served segments within an interval (format: `start_end`); `simple` returns sizes by interval, `full` returns sizes by interval and datasource',
      query: detail,
      answers: [
        jsonAnswer(
          z.union([
            sizeAndCountShape,
            z.record(z.string(), sizeAndCountShape),
            z.record(z.string(), z.record(z.string(), sizeAndCountShape)),
          ]),
        ),
      ],
      handle: async ({ caller, params, query }) => {
        const wanted = pathInterval(params.interval as string)
        await segments.refresh()
        const served = within(reader.of(await readableNames(segments, caller), true), (interval) =>
          contains(wanted, interval),
        )
        if (query.full) return new JsonPieces(reader.intervalsByDatasource(served, false))
        if (query.simple) return await reader.intervals(served, { simple: true, full: false })
        let size = 0
        let count = 0
        for await (const together of served) {
          for (const { segment } of together) size += segment.sizeBytes
          count += together.length
        }
        return { size, count }
      },
    }),
  ]
}

/** Returns the datasources that the caller may read, in order. */
const readableNames = async ({ table }: SegmentInventory, caller: Caller): Promise<string[]> =>
  (await permittedNames(caller, table.datasourceNames)).sort((a, b) => (a < b ? -1 : 1))

/** Returns the served segments whose interval is wanted. */
async function* within(
  served: AsyncIterable<ServedTogether>,
  isWanted: (interval: Interval) => boolean,
): AsyncGenerator<ServedTogether> {
  for await (const together of served) yield together.filter(({ segment }) => isWanted(segment.interval))
}

async function* idTextsOf(served: AsyncIterable<ServedTogether>): AsyncGenerator<string[]> {
  for await (const ids of idsOf(served)) yield ids.map((id) => JSON.stringify(id))
}

/** Parses an interval from a path, where an underscore replaces the slash. Throws invalidInput if it is invalid. */
export function pathInterval(text: string): Interval {
  return parseInterval(text.replace('_', '/'))
}

/** Returns sizes and counts of served segments. `size` counts each segment once, `replicatedSize` counts every replica. */
async function describe(served: AsyncIterable<ServedTogether>) {
  const tiers = new Map<string, { size: number; replicatedSize: number; segmentCount: number }>()
  let replicatedSize = 0
  let size = 0
  let count = 0
  let minTime = Number.POSITIVE_INFINITY
  let maxTime = Number.NEGATIVE_INFINITY
  for await (const together of served) {
    for (const { segment, tiers: copies } of together) {
      size += segment.sizeBytes
      count += 1
      minTime = Math.min(minTime, segment.interval.start)
      maxTime = Math.max(maxTime, segment.interval.end)
      for (const [tier, copiesOfTier] of copies) {
        const entry = tiers.get(tier) ?? { size: 0, replicatedSize: 0, segmentCount: 0 }
        tiers.set(tier, entry)
        entry.size += segment.sizeBytes
        entry.replicatedSize += segment.sizeBytes * copiesOfTier
        entry.segmentCount += 1
        replicatedSize += segment.sizeBytes * copiesOfTier
      }
    }
  }
  return {
    tiers: Object.fromEntries(tiers),
    segments: {
      maxTime: formatInstant(maxTime),
      size,
      minTime: formatInstant(minTime),
      count,
      replicatedSize,
    },
  }
}
