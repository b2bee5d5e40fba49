import { invalidInput, notFound } from '@svc/domain/failure'
import { ruleBoundariesOf } from '@svc/domain/retention'
import type { CompiledRule } from '@svc/domain/rules'
import type { SegmentPayload } from '@svc/domain/segment'
import { formatInstant } from '@svc/domain/time'
import { authenticated, datasource, type Route, route } from '@svc/shared/http'
import { loadDatasourceNames, loadSegmentRecords } from '@svc/shared/postgres'
import type { Caller } from '@svc/shared/security'
import { positiveCount, presence } from '@svc/shared/wire'
import { z } from 'zod'
import type { ClusterView } from './cluster-view.ts'
import { pathInterval } from './datasources.ts'

const base = '/svc/coordinator/v1/metadata'
const fullOnly = z.object({ full: presence })
const names = z
  .union([z.string(), z.array(z.string())])
  .optional()
  .transform((value) => (value === undefined ? undefined : new Set([value].flat())))

/** The endpoints of what the metadata store knows, whether it is served or not. */
export function metadataRoutes({ context, segments, rules }: ClusterView): Route[] {
  const { database, clock } = context

  const payloadsOf = async (dataSource: string): Promise<SegmentPayload[]> =>
    (await loadSegmentRecords(database, { dataSource, used: true })).map(({ payload }) => payload)
  const whole = async (name: string) => ({ name, properties: {}, segments: await payloadsOf(name) })
  const readableNames = async (caller: Caller, includeUnused = false): Promise<string[]> =>
    (await loadDatasourceNames(database, includeUnused)).filter((name) =>
      caller.can('READ', 'DATASOURCE', name),
    )

  /** How the rules of now see each used segment: hidden or not, and copies wanted. */
  async function rulesView(dataSource: string) {
    await segments.refresh()
    const { table } = segments
    const number = table.datasourceNumber(dataSource)
    const boundaries = ruleBoundariesOf(await rules.current(), dataSource, clock.now())
    const overshadowed = new Set<string>()
    const copies = new Map<string, number>()
    for (const group of number < 0 ? [] : table.groupsOf(number)) {
      const isHidden = table.hiddenOf[group] === 1
      const interval = { start: table.startOf[group] as number, end: table.endOf[group] as number }
      const { wanted } = boundaries.compiled[boundaries.match(interval)] as CompiledRule
      const count =
        wanted.action === 'load' && !isHidden
          ? [...wanted.tieredReplicants.values()].reduce((a, b) => a + b, 0)
          : 0
      table.forEachRow(group, (row) => {
        const id = table.idOf(row)
        if (isHidden) overshadowed.add(id)
        copies.set(id, count)
      })
    }
    return { overshadowed, copies }
  }

  return [
    route({
      method: 'GET',
      path: `${base}/datasources`,
      access: authenticated,
      summary: 'The datasources with used segments; full with them',
      query: z.object({ full: presence, includeUnused: presence }),
      handle: async ({ caller, query }) => {
        const readable = await readableNames(caller, query.includeUnused)
        return query.full ? await Promise.all(readable.map(whole)) : readable
      },
    }),
    route({
      method: 'GET',
      path: `${base}/datasources/:dataSource`,
      access: datasource('READ'),
      summary: 'A datasource with its used segments',
      handle: async ({ params }) => {
        const found = await whole(params.dataSource as string)
        if (found.segments.length === 0)
          throw notFound(`Datasource [${params.dataSource}] has no used segments`)
        return found
      },
    }),
    route({
      method: 'GET',
      path: `${base}/segments`,
      access: authenticated,
      summary:
        'All used segments, of some datasources if they are named; on request whether they are overshadowed',
      query: z.object({ datasources: names, includeOvershadowedStatus: presence }),
      handle: async ({ caller, query }) => {
        const readable = (await readableNames(caller)).filter((name) => query.datasources?.has(name) ?? true)
        const shown = readable.map(async (name) => {
          const payloads = await payloadsOf(name)
          if (!query.includeOvershadowedStatus) return payloads
          const { overshadowed, copies } = await rulesView(name)
          return payloads.map((payload) => ({
            overshadowed: overshadowed.has(payload.identifier),
            replicationFactor: copies.get(payload.identifier) ?? 0,
            numRows: payload.totalRows,
            realtime: false,
            ...payload,
          }))
        })
        return (await Promise.all(shown)).flat()
      },
    }),
    route({
      method: 'GET',
      path: `${base}/datasources/:dataSource/segments`,
      access: datasource('READ'),
      summary: 'The ids of the used segments; full with their metadata',
      query: fullOnly,
      handle: async ({ params, query }) => {
        const payloads = await payloadsOf(params.dataSource as string)
        return query.full ? payloads : payloads.map(({ identifier }) => identifier)
      },
    }),
    route({
      method: 'GET',
      path: `${base}/datasources/:dataSource/segments/:segment`,
      access: datasource('READ'),
      summary: 'The metadata of a used segment',
      handle: async ({ params }) => {
        const { dataSource = '', segment = '' } = params
        const [found] = await loadSegmentRecords(database, { dataSource, ids: [segment], used: true })
        if (!found) throw notFound(`Segment [${segment}] does not exist in datasource [${dataSource}]`)
        return found.payload
      },
    }),
    route({
      method: 'GET',
      path: `${base}/datasources/:dataSource/unusedSegments`,
      access: datasource('READ'),
      summary: 'The unused segments, page by page if a limit and the last id are given',
      query: z.object({
        interval: z.string().optional(),
        limit: positiveCount.optional(),
        lastSegmentId: z.string().optional(),
        sortOrder: z.string().optional(),
      }),
      handle: async ({ params, query }) => {
        const order = query.sortOrder?.toUpperCase() ?? 'ASC'
        if (order !== 'ASC' && order !== 'DESC') {
          throw invalidInput(`Parameter [sortOrder] is [${query.sortOrder}]; allowed is ASC or DESC`)
        }
        const records = await loadSegmentRecords(database, {
          dataSource: params.dataSource,
          used: false,
          within: query.interval === undefined ? undefined : pathInterval(query.interval),
          after: query.lastSegmentId,
          limit: query.limit,
          order,
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
    }),
  ]
}
