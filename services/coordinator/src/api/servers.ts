import { notFound } from '@svc/domain/failure'
import { type Route, type RouteInput, route, state } from '@svc/shared/http'
import { loadPayloads } from '@svc/shared/postgres'
import type { Caller } from '@svc/shared/security'
import { presence } from '@svc/shared/wire'
import { z } from 'zod'
import { type QueueSize, type ServerState, servedSegments, sizesByInterval } from '../inventory/index.ts'
import { atLeader } from '../leadership.ts'
import type { ClusterView } from './cluster-view.ts'

const base = '/svc/coordinator/v1'
const detail = z.object({ simple: presence, full: presence })
const simpleOnly = z.object({ simple: presence })

/** The endpoints of data servers, their tiers and their load queues. */
export function serverRoutes(view: ClusterView): Route[] {
  const { context, leadership, segments, servers } = view

  const serverOf = ({ params }: Pick<RouteInput<unknown, unknown>, 'params'>): ServerState => {
    const server = servers.get(params.server as string)
    if (!server) throw notFound(`Server [${params.server}] does not exist`)
    return server
  }
  const queueSizes = () => {
    const queues = servers.queues()
    return Object.fromEntries(
      servers.servers().map(({ name, number }) => [name, describeQueueSize(queues.get(number) as QueueSize)]),
    )
  }
  const historicals = () => servers.servers().filter(({ type }) => type === 'historical')
  /** The ids of the segments of a server whose datasource the caller sees. */
  const shownIds = (server: ServerState, caller: Caller): string[] =>
    [...server.served].filter((id) => caller.sees(segments.get(id)?.dataSource ?? dataSourceOf(id)))
  const withSegments = async (server: ServerState, caller: Caller) => {
    const payloads = await loadPayloads(context.database, shownIds(server, caller))
    return { ...describeServer(server), segments: Object.fromEntries(payloads) }
  }

  const routes = [
    route({
      method: 'GET',
      path: `${base}/servers`,
      access: state('READ'),
      summary: 'The data servers; simple with their sizes, full with their segments',
      query: detail,
      handle: async ({ query, caller }) => {
        const known = servers.servers()
        if (query.full) return await Promise.all(known.map((server) => withSegments(server, caller)))
        return query.simple ? known.map(describeServer) : known.map(({ name }) => name)
      },
    }),
    route({
      method: 'GET',
      path: `${base}/servers/:server`,
      access: state('READ'),
      summary: 'A data server with its segments; simple without them',
      query: detail,
      handle: async (input) => {
        const server = serverOf(input)
        return input.query.simple ? describeServer(server) : await withSegments(server, input.caller)
      },
    }),
    route({
      method: 'GET',
      path: `${base}/servers/:server/segments`,
      access: state('READ'),
      summary: 'The ids of the segments that a data server serves; full with their metadata',
      query: detail,
      handle: async (input) => {
        const ids = shownIds(serverOf(input), input.caller)
        return input.query.full ? [...(await loadPayloads(context.database, ids)).values()] : ids
      },
    }),
    route({
      method: 'GET',
      path: `${base}/servers/:server/segments/:segment`,
      access: state('READ'),
      summary: 'The metadata of a segment that a data server serves',
      handle: async (input) => {
        const id = input.params.segment as string
        const payload = serverOf(input).served.has(id)
          ? (await loadPayloads(context.database, [id])).get(id)
          : undefined
        if (!payload || !input.caller.sees(payload.dataSource))
          throw notFound(`Server [${input.params.server}] does not serve segment [${id}]`)
        return payload
      },
    }),
    route({
      method: 'GET',
      path: `${base}/tiers`,
      access: state('READ'),
      summary: 'The tiers; simple with their sizes',
      query: simpleOnly,
      handle: ({ query }) => {
        const byTier = [...Map.groupBy(historicals(), ({ tier }) => tier)].sort(([a], [b]) =>
          a < b ? -1 : 1,
        )
        if (!query.simple) return byTier.map(([tier]) => tier)
        return Object.fromEntries(
          byTier.map(([tier, members]) => [
            tier,
            {
              currSize: members.reduce((sum, { usedSizeBytes }) => sum + usedSizeBytes, 0),
              maxSize: members.reduce((sum, { maxSizeBytes }) => sum + maxSizeBytes, 0),
            },
          ]),
        )
      },
    }),
    route({
      method: 'GET',
      path: `${base}/tiers/:tier`,
      access: state('READ'),
      summary: 'The datasources of a tier; simple with sizes by interval',
      query: simpleOnly,
      handle: async ({ params, query, caller }) => {
        await segments.refresh()
        const served = servedSegments(segments, servers).filter(({ tiers }) =>
          tiers.has(params.tier as string),
        )
        const groups = [...Map.groupBy(served, ({ segment }) => segment.dataSource)]
          .sort(([a], [b]) => (a < b ? -1 : 1))
          .filter(([dataSource]) => caller.sees(dataSource))
        if (!query.simple) return groups.map(([dataSource]) => dataSource)
        return Object.fromEntries(
          groups.map(([dataSource, members]) => [dataSource, sizesByInterval(members)]),
        )
      },
    }),
    route({
      method: 'GET',
      path: `${base}/loadqueue`,
      access: state('READ'),
      summary: 'What the data servers are asked to load and drop; simple in counts',
      query: simpleOnly,
      handle: ({ query }) =>
        query.simple
          ? queueSizes()
          : Object.fromEntries(servers.servers().map((server) => [server.name, describeQueue(server)])),
    }),
  ]
  return routes.map((one) => atLeader(leadership, context, one))
}

/** The datasource that stands in the id of a segment that is used no longer: all before its first instant. */
const dataSourceOf = (id: string): string => /^(.*?)_-?\d+-\d\d-\d\dT[\d:.]+Z_/.exec(id)?.[1] ?? id

const describeServer = ({ name, tier, type, priority, usedSizeBytes, maxSizeBytes }: ServerState) => ({
  host: name,
  tier,
  type,
  priority,
  currSize: usedSizeBytes,
  maxSize: maxSizeBytes,
})

function describeQueue({ pending }: ServerState) {
  const requests = [...pending]
  const idsOf = (wanted: 'load' | 'drop') =>
    requests.filter(([, { action }]) => action === wanted).map(([id]) => id)
  return { segmentsToLoad: idsOf('load'), segmentsToDrop: idsOf('drop') }
}

const describeQueueSize = ({ loads, loadSizeBytes, drops }: QueueSize) => ({
  segmentsToLoad: loads,
  segmentsToDrop: drops,
  segmentsToLoadSize: loadSizeBytes,
  segmentsToDropSize: 0,
})
