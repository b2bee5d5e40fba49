import { parseSegmentId } from '@svc/domain/segment'
import { formatInstant, type Interval, overlaps, parseInterval } from '@svc/domain/time'
import {
  authenticated,
  datasource,
  JsonPieces,
  jsonAnswer,
  jsonList,
  jsonListOf,
  jsonObject,
  jsonObjectOf,
  noContent,
  Reply,
  type Route,
  type RouteInput,
  route,
} from '@svc/shared/http'
import { loadPayloads } from '@svc/shared/postgres'
import { namesShape, segmentShape } from '@svc/shared/shapes'
import { presence } from '@svc/shared/wire'
import { z } from 'zod'
import {
  byInterval,
  type ServedTogether,
  type SizeAndCount,
  servedSegments,
  sizeAndCount,
} from '../inventory/index.ts'
import { atLeader } from '../leadership/index.ts'
import type { ClusterView } from './cluster-view.ts'
import { continued, fullDatasource, payloadTextPages } from './payload-pieces.ts'
import {
  datasourceShape,
  datasourceSizesShape,
  intervalsShape,
  servedSegmentShape,
  sizeAndCountShape,
} from './served-shapes.ts'

const base = '/svc/coordinator/v1'
const detail = z.object({ simple: presence, full: presence })

const datasourceSummaryShape = z
  .object({ name: z.string(), properties: datasourceSizesShape })
  .meta({ title: 'DatasourceSummary' })

/** Like Druid 37, return no content if no segment of a datasource is served. */
const nothing = new Reply(204)

/** Returns the endpoints that show the served segments by datasource and interval. */
export function datasourceRoutes(view: ClusterView): Route[] {
  const { context, leadership, segments, servers } = view
  const { database } = context

  // Each handler refreshes the segments once before it reads them, because a new leader knows none yet.
  /** Returns the served segments of some datasources, ordered by their start. */
  const servedOf = (dataSources: readonly string[], newestFirst = false): AsyncGenerator<ServedTogether> =>
    servedSegments(segments, servers, dataSources, newestFirst)
  /** Returns the served segments of one datasource, or undefined if there are none. */
  const servedOfOne = async (dataSource = '', newestFirst = false) => {
    const served = servedOf([dataSource], newestFirst)
    const first = await served.next()
    return first.done ? undefined : continued(first.value, served)
  }
  async function* payloadsOf(served: AsyncIterable<ServedTogether>): AsyncGenerator<string[]> {
    for await (const { ids, texts } of payloadTextPages(database, idsOf(served)))
      yield ids.flatMap((id) => texts.get(id) ?? [])
  }
  async function* withServers(members: ServedTogether): AsyncGenerator<string[]> {
    const serversOf = new Map(members.map(({ segment, servers: names }) => [segment.id, names]))
    for await (const { ids, texts } of payloadTextPages(database, [[...serversOf.keys()]]))
      yield ids.map(
        (id) =>
          `${JSON.stringify(id)}:{"metadata":${texts.get(id) ?? 'null'},"servers":${JSON.stringify(serversOf.get(id))}}`,
      )
  }
  const readableNames = ({ caller }: Pick<RouteInput<unknown, unknown>, 'caller'>): string[] =>
    segments.table.datasourceNames
      .filter((name) => caller.can('READ', 'DATASOURCE', name))
      .sort((a, b) => (a < b ? -1 : 1))
  /** Returns the intervals of one datasource, newest first: with segments and servers, with sizes, or as a list. */
  async function showIntervals(
    served: AsyncIterable<ServedTogether>,
    { simple, full }: { simple: boolean; full: boolean },
  ): Promise<object> {
    if (full) {
      const members = async function* () {
        for await (const together of served)
          for (const [interval, own] of byInterval(together))
            yield [interval, jsonObject(withServers(own))] as const
      }
      return new JsonPieces(jsonObjectOf(members()))
    }
    const sizes: Record<string, SizeAndCount> = {}
    for await (const together of served)
      for (const [interval, own] of byInterval(together)) sizes[interval] = sizeAndCount(own)
    return simple ? sizes : Object.keys(sizes)
  }

  const routes = [
    route({
      method: 'GET',
      path: `${base}/datasources`,
      access: authenticated,
      summary: 'List the served datasources; simple adds their sizes, full adds their segments',
      query: detail,
      answers: [
        jsonAnswer(z.union([namesShape, z.array(z.union([datasourceSummaryShape, datasourceShape]))])),
      ],
      handle: async (input) => {
        await segments.refresh()
        const names = readableNames(input)
        if (input.query.full) {
          const members = async function* () {
            for (const name of names) {
              const served = await servedOfOne(name)
              if (served) yield fullDatasource(name, payloadsOf(served))
            }
          }
          return new JsonPieces(jsonListOf(members()))
        }
        const found: { readonly name: string; readonly properties: object }[] = []
        for (const name of names) {
          const served = await servedOfOne(name)
          if (served) found.push({ name, properties: input.query.simple ? await describe(served) : {} })
        }
        return input.query.simple ? found : found.map(({ name }) => name)
      },
    }),
    route({
      method: 'GET',
      path: `${base}/datasources/:dataSource`,
      access: datasource('READ'),
      summary: 'Get the size of the served segments of a datasource; full returns the segments instead',
      query: detail,
      answers: [
        jsonAnswer(z.union([datasourceSizesShape, datasourceShape])),
        noContent('No segment of the datasource is served'),
      ],
      handle: async ({ params, query }) => {
        await segments.refresh()
        const served = await servedOfOne(params.dataSource)
        if (!served) return nothing
        return query.full
          ? new JsonPieces(fullDatasource(params.dataSource as string, payloadsOf(served)))
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
        for await (const together of servedOf([params.dataSource as string]))
          for (const { tiers } of together) for (const tier of tiers.keys()) found.add(tier)
        return [...found].sort()
      },
    }),
    route({
      method: 'GET',
      path: `${base}/datasources/:dataSource/intervals`,
      access: datasource('READ'),
      summary:
        'List the served intervals of a datasource, newest first; simple adds their sizes, full adds their segments',
      query: detail,
      answers: [jsonAnswer(intervalsShape), noContent('No segment of the datasource is served')],
      handle: async ({ params, query }) => {
        await segments.refresh()
        const served = await servedOfOne(params.dataSource, true)
        return served ? await showIntervals(served, query) : nothing
      },
    }),
    route({
      method: 'GET',
      path: `${base}/datasources/:dataSource/intervals/:interval`,
      access: datasource('READ'),
      summary:
        'List the served segments in an interval (start_end); simple returns sizes by interval, full adds servers',
      query: detail,
      answers: [jsonAnswer(intervalsShape), noContent('No segment of the datasource is served')],
      handle: async ({ params, query }) => {
        const wanted = pathInterval(params.interval as string)
        const showsIntervals = query.simple || query.full
        await segments.refresh()
        const served = await servedOfOne(params.dataSource, showsIntervals)
        if (!served) return nothing
        const within = (async function* () {
          for await (const together of served)
            yield together.filter(({ segment }) => overlaps(segment.interval, wanted))
        })()
        return showsIntervals
          ? await showIntervals(within, query)
          : new JsonPieces(jsonList(idTextsOf(within)))
      },
    }),
    route({
      method: 'GET',
      path: `${base}/datasources/:dataSource/segments`,
      access: datasource('READ'),
      summary: 'List the IDs of the served segments of a datasource; full returns their metadata',
      query: detail,
      answers: [
        jsonAnswer(z.union([namesShape, z.array(segmentShape)])),
        noContent('No segment of the datasource is served'),
      ],
      handle: async ({ params, query }) => {
        await segments.refresh()
        const served = await servedOfOne(params.dataSource)
        if (!served) return nothing
        return new JsonPieces(jsonList(query.full ? payloadsOf(served) : idTextsOf(served)))
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
    route({
      method: 'GET',
      path: `${base}/intervals`,
      access: authenticated,
      summary: 'List all served intervals with sizes by datasource; full returns segments instead',
      query: detail,
      answers: [
        jsonAnswer(
          z.record(
            z.string(),
            z.record(z.string(), z.union([sizeAndCountShape, z.record(z.string(), servedSegmentShape)])),
          ),
        ),
      ],
      handle: async (input) => {
        await segments.refresh()
        const served = servedOf(readableNames(input), true)
        const members = async function* () {
          for await (const together of served)
            for (const [interval, own] of byInterval(together)) {
              const byDatasource = Map.groupBy(own, ({ segment }) => segment.dataSource)
              yield [interval, jsonObjectOf(datasourcesOf(byDatasource, input.query.full))] as const
            }
        }
        return new JsonPieces(jsonObjectOf(members()))
      },
    }),
  ]
  async function* datasourcesOf(
    byDatasource: ReadonlyMap<string, ServedTogether>,
    full: boolean,
  ): AsyncGenerator<readonly [string, AsyncGenerator<string>]> {
    for (const [name, own] of byDatasource)
      yield [name, full ? jsonObject(withServers(own)) : textOf(sizeAndCount(own))]
  }
  return routes.map((one) => atLeader(leadership, context, one))
}

async function* textOf(value: object): AsyncGenerator<string> {
  yield JSON.stringify(value)
}

async function* idsOf(served: AsyncIterable<ServedTogether>): AsyncGenerator<string[]> {
  for await (const together of served) yield together.map(({ segment }) => segment.id)
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
