import { parseSegmentId, type SegmentPayload } from '@svc/domain/segment'
import { formatInstant, formatInterval, type Interval, overlaps, parseInterval } from '@svc/domain/time'
import { authenticated, datasource, Reply, type Route, type RouteInput, route } from '@svc/shared/http'
import { loadPayloads } from '@svc/shared/postgres'
import { presence } from '@svc/shared/wire'
import { z } from 'zod'
import { type ServedSegment, servedSegments, sizeAndCount, sizesByInterval } from '../inventory/index.ts'
import { atLeader } from '../leadership.ts'
import type { ClusterView } from './cluster-view.ts'

const base = '/svc/coordinator/v1'
const detail = z.object({ simple: presence, full: presence })

/** Nothing of this name is served: the recorded system answers with no content. */
const nothing = new Reply(204)

/** The endpoints of what servers serve, by datasource and interval. */
export function datasourceRoutes(view: ClusterView): Route[] {
  const { context, leadership, segments, servers } = view
  const { database } = context

  const servedOf = async (dataSource?: string): Promise<ServedSegment[]> => {
    await segments.refresh()
    return servedSegments(segments, servers, dataSource)
  }
  const payloadsOf = async (served: readonly ServedSegment[]): Promise<SegmentPayload[]> => {
    const payloads = await loadPayloads(
      database,
      served.map(({ segment }) => segment.id),
    )
    return served.flatMap(({ segment }) => payloads.get(segment.id) ?? [])
  }
  const withServers = async (served: readonly ServedSegment[]): Promise<Record<string, object>> => {
    const payloads = await loadPayloads(
      database,
      served.map(({ segment }) => segment.id),
    )
    return Object.fromEntries(
      served.map((one) => [
        one.segment.id,
        { metadata: payloads.get(one.segment.id) ?? null, servers: one.servers },
      ]),
    )
  }
  const readable = async ({ caller }: Pick<RouteInput<unknown, unknown>, 'caller'>) => {
    const served = await servedOf()
    const groups = Map.groupBy(served, ({ segment }) => segment.dataSource)
    return [...groups]
      .filter(([dataSource]) => caller.can('READ', 'DATASOURCE', dataSource))
      .sort(([a], [b]) => (a < b ? -1 : 1))
  }
  const whole = async (name: string, served: readonly ServedSegment[]) => ({
    name,
    properties: {},
    segments: await payloadsOf(served),
  })

  const routes = [
    route({
      method: 'GET',
      path: `${base}/datasources`,
      access: authenticated,
      summary: 'The datasources that are served; simple with sizes, full with segments',
      query: detail,
      handle: async (input) => {
        const groups = await readable(input)
        if (input.query.full) return await Promise.all(groups.map(([name, served]) => whole(name, served)))
        if (input.query.simple)
          return groups.map(([name, served]) => ({ name, properties: describe(served) }))
        return groups.map(([name]) => name)
      },
    }),
    route({
      method: 'GET',
      path: `${base}/datasources/:dataSource`,
      access: datasource('READ'),
      summary: 'What is served of a datasource; full with its segments',
      query: detail,
      handle: async ({ params, query }) => {
        const served = await servedOf(params.dataSource)
        if (served.length === 0) return nothing
        return query.full ? await whole(params.dataSource as string, served) : describe(served)
      },
    }),
    route({
      method: 'GET',
      path: `${base}/datasources/:dataSource/tiers`,
      access: datasource('READ'),
      summary: 'The tiers that serve a datasource',
      handle: async ({ params }) => {
        const served = await servedOf(params.dataSource)
        return [...new Set(served.flatMap(({ tiers }) => [...tiers.keys()]))].sort()
      },
    }),
    route({
      method: 'GET',
      path: `${base}/datasources/:dataSource/intervals`,
      access: datasource('READ'),
      summary: 'The intervals that are served, newest first; simple with sizes, full with segments',
      query: detail,
      handle: async ({ params, query }) => {
        const served = await servedOf(params.dataSource)
        if (served.length === 0) return nothing
        return await showIntervals(served, query, withServers)
      },
    }),
    route({
      method: 'GET',
      path: `${base}/datasources/:dataSource/intervals/:interval`,
      access: datasource('READ'),
      summary:
        'The segments that are served in an interval (start_end); simple by interval with sizes, full with servers',
      query: detail,
      handle: async ({ params, query }) => {
        const wanted = pathInterval(params.interval as string)
        const served = await servedOf(params.dataSource)
        if (served.length === 0) return nothing
        const within = served.filter(({ segment }) => overlaps(segment.interval, wanted))
        if (query.simple || query.full) return await showIntervals(within, query, withServers)
        return within.map(({ segment }) => segment.id)
      },
    }),
    route({
      method: 'GET',
      path: `${base}/datasources/:dataSource/segments`,
      access: datasource('READ'),
      summary: 'The ids of the segments that are served; full with their metadata',
      query: detail,
      handle: async ({ params, query }) => {
        const served = await servedOf(params.dataSource)
        if (served.length === 0) return nothing
        return query.full ? await payloadsOf(served) : served.map(({ segment }) => segment.id)
      },
    }),
    route({
      method: 'GET',
      path: `${base}/datasources/:dataSource/segments/:segment`,
      access: datasource('READ'),
      summary: 'A segment and the servers that serve it',
      handle: async ({ params }) => {
        const { dataSource = '', segment = '' } = params
        if (!parseSegmentId(dataSource, segment)) return nothing
        const served = (await servedOf(dataSource)).filter((one) => one.segment.id === segment)
        return Object.values(await withServers(served))[0] ?? nothing
      },
    }),
    route({
      method: 'GET',
      path: `${base}/intervals`,
      access: authenticated,
      summary: 'All intervals that are served, with sizes by datasource; full with segments',
      query: detail,
      handle: async (input) => {
        const groups = await readable(input)
        const served = groups.flatMap(([, members]) => members)
        const byInterval = Map.groupBy(sortByStart(served).reverse(), ({ segment }) =>
          formatInterval(segment.interval),
        )
        const shown = [...byInterval].map(async ([interval, members]) => {
          const byDatasource = [...Map.groupBy(members, ({ segment }) => segment.dataSource)]
          const entries = byDatasource.map(async ([name, own]) => [
            name,
            input.query.full ? await withServers(own) : sizeAndCount(own),
          ])
          return [interval, Object.fromEntries(await Promise.all(entries))]
        })
        return Object.fromEntries(await Promise.all(shown))
      },
    }),
  ]
  return routes.map((one) => atLeader(leadership, context, one))
}

const sortByStart = (served: readonly ServedSegment[]): ServedSegment[] =>
  [...served].sort((a, b) => a.segment.interval.start - b.segment.interval.start)

/** An interval as it stands in a path: an underscore in place of the slash. */
export function pathInterval(text: string): Interval {
  return parseInterval(text.replace('_', '/'))
}

async function showIntervals(
  served: readonly ServedSegment[],
  { simple, full }: { simple: boolean; full: boolean },
  withServers: (served: readonly ServedSegment[]) => Promise<Record<string, object>>,
): Promise<object> {
  if (full) {
    const groups = [...Map.groupBy([...served].reverse(), ({ segment }) => formatInterval(segment.interval))]
    return Object.fromEntries(
      await Promise.all(groups.map(async ([interval, members]) => [interval, await withServers(members)])),
    )
  }
  const sizes = sizesByInterval(served)
  return simple ? sizes : Object.keys(sizes)
}

/** Sizes and counts of what is served of one datasource; a copy counts once in `size`, each time in `replicatedSize`. */
function describe(served: readonly ServedSegment[]) {
  const tiers = new Map<string, { size: number; replicatedSize: number; segmentCount: number }>()
  let replicatedSize = 0
  for (const { segment, tiers: copies } of served) {
    for (const [tier, count] of copies) {
      const entry = tiers.get(tier) ?? { size: 0, replicatedSize: 0, segmentCount: 0 }
      tiers.set(tier, entry)
      entry.size += segment.sizeBytes
      entry.replicatedSize += segment.sizeBytes * count
      entry.segmentCount += 1
      replicatedSize += segment.sizeBytes * count
    }
  }
  const { size, count } = sizeAndCount(served)
  // Not by spreading them into one call: there may be more segments than a call takes arguments.
  const minTime = served.reduce((least, { segment }) => Math.min(least, segment.interval.start), Infinity)
  const maxTime = served.reduce((most, { segment }) => Math.max(most, segment.interval.end), -Infinity)
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
