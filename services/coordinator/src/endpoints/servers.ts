import { notFound } from '@svc/domain/failure'
import { jsonList, jsonListOf, jsonObject, jsonObjectOf, jsonOf } from '@svc/domain/json'
import { type LoadRate, timeOf } from '@svc/domain/load-time'
import { dataSourceOfId } from '@svc/domain/segment'
import { JsonPieces, jsonAnswer, type Route, route, state } from '@svc/shared/http'
import { type Database, loadPayloads } from '@svc/shared/postgres'
import { type Caller, mayAccess, permittedItems, permittedNames } from '@svc/shared/security'
import { namesShape, segmentShape } from '@svc/shared/shapes'
import { presence } from '@svc/shared/wire'
import * as z from 'zod'
import { payloadTextPages, sizeAndCountShape, sizesByInterval } from '../answers/index.ts'
import type { ClusterView } from '../cluster-view.ts'
import {
  type LoadMeter,
  type QueueSize,
  type SegmentInventory,
  type ServedTogether,
  type ServerInventory,
  type ServerState,
  type SizeAndCount,
  servedSegments,
} from '../inventory/index.ts'
import { atLeader } from '../leadership/index.ts'

const base = '/svc/coordinator/v1'
const detail = { simple: presence, full: presence }
const simpleOnly = { simple: presence }

const serverShape = z
  .object({
    host: z.string(),
    tier: z.string(),
    type: z.string(),
    priority: z.int(),
    currSize: z.int(),
    maxSize: z.int(),
    segments: z.record(z.string(), segmentShape).optional(),
  })
  .meta({ title: 'Server', description: 'Segments, keyed by ID, are included only with `full`' })
const tierSizeShape = z.object({ currSize: z.int(), maxSize: z.int() })
const loadQueueShape = z
  .object({ segmentsToLoad: namesShape, segmentsToDrop: namesShape })
  .meta({ title: 'LoadQueue' })
const loadQueueSizeShape = z
  .object({
    segmentsToLoad: z.int(),
    segmentsToDrop: z.int(),
    segmentsToLoadSize: z.int(),
    segmentsToDropSize: z.int(),
    expectedLoadTimeMillis: z
      .int()
      .describe(
        'Estimate based on the rate at which the server loaded segments earlier; 0 if the rate is unknown',
      ),
  })
  .meta({ title: 'LoadQueueSize' })

const activityShape = z
  .record(
    z.string(),
    z.object({
      bytesPerSecond: z
        .int()
        .nullable()
        .describe(
          'Rate at which the server recently loaded segments while its load queue was not empty; null if not measured',
        ),
      segmentsPerSecond: z.number().nullable(),
      failedLoads: z.int().describe('Segments that the server recently failed to load'),
      lastError: z.string().nullable(),
    }),
  )
  .meta({ title: 'ServerActivity' })

/** How fast servers load segments; undefined if that has not been measured. */
type Measured = Pick<LoadMeter, 'rateOf' | 'sumsOf'>

/** Returns the endpoints for data servers, tiers, and load queues. */
export function serverRoutes(
  { context, leadership, segments, servers }: ClusterView,
  measured: Measured,
): Route[] {
  const idsShownTo: IdsShownTo = (caller, ids) =>
    permittedItems(caller, ids, (id) => segments.get(id)?.dataSource ?? dataSourceOfId(id), 'SEE')
  return [
    ...serverListRoutes(context.database, servers, idsShownTo),
    ...segmentsOfServerRoutes(context.database, servers, idsShownTo),
    ...tierRoutes(segments, servers),
    loadQueueRoute(servers, idsShownTo, measured.rateOf),
    activityRoute(servers, idsShownTo, measured.sumsOf),
  ].map((one) => atLeader(leadership, context, one))
}

/** Returns the IDs of segments whose datasource the caller may see. */
type IdsShownTo = (caller: Caller, ids: Iterable<string>) => Promise<string[]>

/** The data servers with their sizes or segments. */
function serverListRoutes(database: Database, servers: ServerInventory, idsShownTo: IdsShownTo): Route[] {
  const withSegments = (server: ServerState, caller: Caller): AsyncGenerator<string> =>
    jsonObjectOf([
      ...Object.entries(describeServer(server)).map(([name, value]) => [name, jsonOf(value)] as const),
      ['segments', jsonObject(payloadsById(server, caller))],
    ])
  async function* payloadsById(server: ServerState, caller: Caller) {
    for await (const { texts } of payloadTextPages(database, [await idsShownTo(caller, server.served)]))
      yield [...texts]
  }
  return [
    route({
      method: 'GET',
      path: `${base}/servers`,
      access: state('READ'),
      summary: 'List the data servers; `simple` adds their sizes, and `full` adds their segments',
      query: detail,
      answers: [jsonAnswer(z.union([namesShape, z.array(serverShape)]))],
      handle: async ({ query, caller }) => {
        const known = servers.servers()
        if (query.full) {
          return new JsonPieces(jsonListOf(known.map((server) => withSegments(server, caller))))
        }
        return query.simple ? known.map(describeServer) : known.map(({ name }) => name)
      },
    }),
    route({
      method: 'GET',
      path: `${base}/servers/:server`,
      access: state('READ'),
      summary: 'Get a data server with its segments; `simple` omits the segments',
      query: detail,
      answers: [jsonAnswer(serverShape)],
      handle: async (input) => {
        const server = knownServer(servers, input.params.server)
        return input.query.simple
          ? describeServer(server)
          : new JsonPieces(withSegments(server, input.caller))
      },
    }),
  ]
}

/** The segments on one data server. */
function segmentsOfServerRoutes(
  database: Database,
  servers: ServerInventory,
  idsShownTo: IdsShownTo,
): Route[] {
  return [
    route({
      method: 'GET',
      path: `${base}/servers/:server/segments`,
      access: state('READ'),
      summary: 'List the IDs of the segments that a data server serves; `full` returns their metadata',
      query: detail,
      answers: [jsonAnswer(z.union([namesShape, z.array(segmentShape)]))],
      handle: async (input) => {
        const ids = await idsShownTo(input.caller, knownServer(servers, input.params.server).served)
        if (!input.query.full) return ids
        const pages = async function* () {
          for await (const { texts } of payloadTextPages(database, [ids])) yield [...texts.values()]
        }
        return new JsonPieces(jsonList(pages()))
      },
    }),
    route({
      method: 'GET',
      path: `${base}/servers/:server/segments/:segment`,
      access: state('READ'),
      summary: 'Get the metadata of a segment that a data server serves',
      answers: [jsonAnswer(segmentShape)],
      handle: async (input) => {
        const id = input.params.segment as string
        const payload = knownServer(servers, input.params.server).served.has(id)
          ? (await loadPayloads(database, [id])).get(id)
          : undefined
        if (!payload || !(await mayAccess(input.caller, payload.dataSource, 'SEE')))
          throw notFound(`Server [${input.params.server}] does not serve segment [${id}]`)
        return payload
      },
    }),
  ]
}

/** The tiers with their sizes and datasources. */
function tierRoutes(segments: SegmentInventory, servers: ServerInventory): Route[] {
  return [
    route({
      method: 'GET',
      path: `${base}/tiers`,
      access: state('READ'),
      summary: 'List the tiers; `simple` adds their sizes',
      query: simpleOnly,
      answers: [jsonAnswer(z.union([namesShape, z.record(z.string(), tierSizeShape)]))],
      handle: ({ query }) => {
        const historicals = servers.servers().filter(({ type }) => type === 'historical')
        const byTier = [...Map.groupBy(historicals, ({ tier }) => tier)].sort(([a], [b]) => (a < b ? -1 : 1))
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
      summary: 'List the datasources of a tier; `simple` adds sizes by interval',
      query: simpleOnly,
      answers: [
        jsonAnswer(z.union([namesShape, z.record(z.string(), z.record(z.string(), sizeAndCountShape))])),
      ],
      handle: async ({ params, query, caller }) => {
        await segments.refresh()
        const tier = params.tier as string
        const found: [dataSource: string, sizes: Record<string, SizeAndCount>][] = []
        const names = await permittedNames(caller, segments.table.datasourceNames, 'SEE')
        for (const name of names.sort((a, b) => (a < b ? -1 : 1))) {
          const served = servedSegments(segments, servers, [name], true)
          if (!query.simple) {
            if (await isServedIn(tier, served)) found.push([name, {}])
            continue
          }
          const sizes = await sizesByInterval(inTier(tier, served))
          if (Object.keys(sizes).length > 0) found.push([name, sizes])
        }
        return query.simple ? Object.fromEntries(found) : found.map(([name]) => name)
      },
    }),
  ]
}

/** The load queues of all data servers. */
const loadQueueRoute = (
  servers: ServerInventory,
  idsShownTo: IdsShownTo,
  rateOf: Measured['rateOf'],
): Route =>
  route({
    method: 'GET',
    path: `${base}/loadqueue`,
    access: state('READ'),
    summary: 'Get the load queues of the data servers; `simple` returns counts',
    query: simpleOnly,
    answers: [jsonAnswer(z.record(z.string(), z.union([loadQueueShape, loadQueueSizeShape])))],
    handle: async ({ query, caller }) => {
      if (query.simple) return queueSizes(servers, rateOf)
      const all = servers.servers()
      const queued = all.flatMap(({ pending }) => [...pending].map(([id]) => id))
      const shown = new Set(await idsShownTo(caller, queued))
      return Object.fromEntries(all.map((server) => [server.name, describeQueue(server, shown)]))
    },
  })

/** How fast the data servers load, and what they failed to load. */
const activityRoute = (servers: ServerInventory, idsShownTo: IdsShownTo, sumsOf: Measured['sumsOf']): Route =>
  route({
    method: 'GET',
    path: `${base}/servers/activity`,
    access: state('READ'),
    summary: 'Get the load rate of each data server, and the number of loads that failed recently',
    answers: [jsonAnswer(activityShape)],
    handle: async ({ caller }) => {
      const failedIds = servers.servers().flatMap(({ failed }) => [...failed].map(([id]) => id))
      const shown = new Set(await idsShownTo(caller, failedIds))
      const failedOf = new Map(servers.failedLoads((id) => shown.has(id)).map((one) => [one.name, one]))
      return Object.fromEntries(
        servers.servers().map(({ name }) => {
          const { ms = 0, segments = 0, bytes = 0 } = sumsOf(name) ?? {}
          const { count = 0, lastError } = failedOf.get(name) ?? {}
          const activity = {
            bytesPerSecond: ms > 0 ? Math.round((1000 * bytes) / ms) : null,
            segmentsPerSecond: ms > 0 ? Math.round((100_000 * segments) / ms) / 100 : null,
            failedLoads: count,
            lastError: lastError ?? null,
          }
          return [name, activity]
        }),
      )
    },
  })

function knownServer(servers: ServerInventory, name: string | undefined): ServerState {
  const server = servers.get(name as string)
  if (!server) throw notFound(`Server [${name}] does not exist`)
  return server
}

/**
 * Returns the served segments that a tier serves, each once per replica in it: Druid 37 counts replicas in the sizes of a
 * tier, but not in those of a datasource.
 */
async function* inTier(tier: string, served: AsyncIterable<ServedTogether>): AsyncGenerator<ServedTogether> {
  for await (const together of served)
    yield together.flatMap((segment) => Array<typeof segment>(segment.tiers.get(tier) ?? 0).fill(segment))
}

/** Returns whether a tier serves any of the segments. */
async function isServedIn(tier: string, served: AsyncIterable<ServedTogether>): Promise<boolean> {
  for await (const together of inTier(tier, served)) if (together.length > 0) return true
  return false
}

const describeServer = ({ name, tier, type, priority, usedSizeBytes, maxSizeBytes }: ServerState) => ({
  host: name,
  tier,
  type,
  priority,
  currSize: usedSizeBytes,
  maxSize: maxSizeBytes,
})

function describeQueue({ pending }: ServerState, shown: ReadonlySet<string>) {
  const requests = [...pending].filter(([id]) => shown.has(id))
  const idsOf = (wanted: 'load' | 'drop') =>
    requests.filter(([, { action }]) => action === wanted).map(([id]) => id)
  return { segmentsToLoad: idsOf('load'), segmentsToDrop: idsOf('drop') }
}

function queueSizes(servers: ServerInventory, rateOf: Measured['rateOf']) {
  const queues = servers.queues()
  return Object.fromEntries(
    servers
      .servers()
      .map(({ name, number }) => [name, describeQueueSize(queues.get(number) as QueueSize, rateOf(name))]),
  )
}

const describeQueueSize = ({ loads, loadSizeBytes, drops }: QueueSize, rate: LoadRate | undefined) => ({
  segmentsToLoad: loads,
  segmentsToDrop: drops,
  segmentsToLoadSize: loadSizeBytes,
  segmentsToDropSize: 0,
  expectedLoadTimeMillis: rate ? Math.round(timeOf(rate, loads, loadSizeBytes)) : 0,
})
