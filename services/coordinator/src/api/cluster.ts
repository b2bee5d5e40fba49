import { setImmediate } from 'node:timers/promises'
import { unavailable } from '@svc/domain/failure'
import type { LoadingServer } from '@svc/domain/loading'
import { type DatasourceLoadStatus, loadStatusOf, serversThatCannotHold } from '@svc/domain/retention'
import { defaultRulesName, type RulesByName } from '@svc/domain/rules'
import { type Role, roles } from '@svc/shared/config'
import { serverPartsOf } from '@svc/shared/coordinator-config'
import {
  datasource,
  jsonAnswer,
  noContent,
  open,
  Reply,
  type Route,
  route,
  state,
  textAnswer,
} from '@svc/shared/http'
import type { ServiceContext } from '@svc/shared/service'
import { leaderShape } from '@svc/shared/shapes'
import { presence } from '@svc/shared/wire'
import { z } from 'zod'
import { loadCoordinatorConfig } from '../inventory/index.ts'
import { atLeader } from '../leadership/index.ts'
import type { ClusterView } from './cluster-view.ts'
import { warningsHeader } from './warnings-header.ts'

const path = (rest: string): string => `/svc/coordinator/v1${rest}`

const nodeShape = z
  .object({
    host: z.string(),
    service: z.string(),
    plaintextPort: z.int().optional(),
    tlsPort: z.int().optional(),
  })
  .meta({ title: 'ClusterNode' })

const dutyGroupShape = z
  .object({
    name: z.string(),
    period: z.string(),
    dutyNames: z.array(z.string()),
    lastRunStart: z.string().nullable(),
    lastRunEnd: z.string().nullable(),
    avgRuntimeMillis: z.int(),
    lastRunMillis: z.int(),
    runs: z.int(),
    failures: z.record(z.string(), z.int()),
  })
  .meta({ title: 'DutyGroup' })

const numbersShape = z.record(z.string(), z.number())
const loadStatusShape = z.union([numbersShape, z.record(z.string(), numbersShape)])

/** Leadership, the servers of the cluster, duties, and how far the loading of segments has come. */
export function clusterRoutes(view: ClusterView): Route[] {
  const { context, leadership, dutyGroups } = view
  return [
    route({
      method: 'GET',
      path: path('/leader'),
      access: state('READ'),
      summary: 'The address of the leading coordinator',
      answers: [textAnswer('text/plain')],
      handle: () =>
        new Reply(200, context.discovery.leader('coordinator').baseUrl, { 'Content-Type': 'text/plain' }),
    }),
    route({
      method: 'GET',
      path: path('/isLeader'),
      access: open,
      summary: 'Whether this coordinator leads; 404 if not',
      answers: [
        jsonAnswer(leaderShape),
        jsonAnswer(leaderShape, { status: 404, description: 'It does not' }),
      ],
      handle: () => {
        const leader = leadership.term() !== undefined
        return new Reply(leader ? 200 : 404, { leader })
      },
    }),
    route({
      method: 'GET',
      path: path('/cluster'),
      access: state('READ'),
      summary: 'The servers of the cluster by role',
      answers: [jsonAnswer(z.record(z.string(), z.array(nodeShape)))],
      handle: async ({ word }) => {
        await context.discovery.refresh()
        // Workers of their own are named where there are some: most clusters run tasks on overlords only.
        const named = roles.filter((role) => role !== 'worker' || context.discovery.nodes(role).length > 0)
        return Object.fromEntries(named.map((role) => [role, nodesOf(context, role, word)]))
      },
    }),
    route({
      method: 'GET',
      path: path('/duties'),
      access: state('READ'),
      summary: 'How the runs of the duties went',
      answers: [jsonAnswer(z.object({ dutyGroups: z.array(dutyGroupShape) }))],
      handle: () => ({ dutyGroups: dutyGroups.map((group) => group.status()) }),
    }),
    ...[
      route({
        method: 'GET',
        path: path('/loadstatus'),
        access: state('READ'),
        summary:
          'How much of each datasource is loaded: in percent, simple in segments left, full in copies left by tier',
        query: z.object({ simple: presence, full: presence }),
        answers: [jsonAnswer(loadStatusShape)],
        handle: async ({ query, caller }) => {
          const { status, headers } = await loadStatus(view, query, caller.sees)
          return new Reply(200, status, headers)
        },
      }),
      route({
        method: 'GET',
        path: path('/datasources/:dataSource/loadstatus'),
        access: datasource('READ'),
        summary: 'The same of one datasource',
        query: z.object({ simple: presence, full: presence }),
        answers: [jsonAnswer(loadStatusShape), noContent('It has no used segments')],
        handle: async ({ params, query }) => {
          const { status, headers } = await loadStatus(view, query, () => true, params.dataSource)
          return Object.keys(status).length === 0 ? new Reply(204) : new Reply(200, status, headers)
        },
      }),
    ].map((leaderRoute) => atLeader(leadership, context, leaderRoute)),
  ]
}

function nodesOf(context: ServiceContext, role: Role, word: string) {
  return context.discovery.nodes(role).map(({ host, service, plaintextPort, tlsPort }) => ({
    host,
    service: service.replace(/^svc(?=\/)/, word),
    ...(plaintextPort === null ? {} : { plaintextPort }),
    ...(tlsPort === null ? {} : { tlsPort }),
  }))
}

async function loadStatus(
  { context, segments, servers, rules }: ClusterView,
  query: { simple: boolean; full: boolean },
  isShown: (dataSource: string) => boolean,
  dataSource?: string,
): Promise<{ readonly status: object; readonly headers: Record<string, string> }> {
  const [currentRules, config] = await Promise.all([
    rules.current(),
    loadCoordinatorConfig(context.database),
    segments.refresh(),
  ])
  if (!currentRules.has(defaultRulesName)) throw unavailable('The default rules have not been stored yet')
  const { table } = segments
  const loadingServers = servers.loadingServers(performance.now(), serverPartsOf(config))
  const numbers =
    dataSource === undefined ? table.datasourceNames.keys() : [table.datasourceNumber(dataSource)]
  const statuses: DatasourceLoadStatus[] = []
  for (const number of numbers) {
    if (table.usedCountOf(number) === 0) continue
    const status = loadStatusOf(table, number, currentRules, loadingServers, context.clock.now())
    if (isShown(status.dataSource)) statuses.push(status)
    // Some milliseconds each: other requests are answered in between.
    await setImmediate()
  }
  const warnings = loadWarnings(statuses, currentRules, loadingServers)
  const headers = { 'X-Svc-Warnings': warningsHeader(warnings) }
  return { status: describeStatuses(statuses, query, loadingServers), headers }
}

/** What load rules want and no server can give: it stays missing, and nobody goes on trying. */
function loadWarnings(
  statuses: readonly DatasourceLoadStatus[],
  rules: RulesByName,
  servers: readonly LoadingServer[],
) {
  const tiers = new Set(servers.filter(({ type }) => type === 'historical').map(({ tier }) => tier))
  const withoutServers = statuses.flatMap(({ dataSource, missingCopies }) =>
    [...missingCopies]
      .filter(([tier]) => !tiers.has(tier))
      .map(([tier, copies]) => ({
        type: 'tierWithoutServers',
        dataSource,
        tier,
        copies,
        message: `Datasource [${dataSource}]: [${copies}] copies are wanted in tier [${tier}], which has no servers`,
      })),
  )
  const unable = serversThatCannotHold(rules, servers).map(({ name, type }) => ({
    type: 'serverCannotHoldSegments',
    server: name,
    message: `The ${type} [${name}] has no room for segments and cannot hold broadcast ones; it needs [svc.segmentCache.locations]`,
  }))
  return [...withoutServers, ...unable]
}

function describeStatuses(
  statuses: readonly DatasourceLoadStatus[],
  query: { simple: boolean; full: boolean },
  servers: readonly LoadingServer[],
): object {
  if (query.full) {
    const historicals = servers.filter(({ type }) => type === 'historical')
    // Sorted: the order in which servers were first seen differs from start to start, and clients compare answers.
    const tiers = [...new Set(historicals.map(({ tier }) => tier))].sort()
    const missingIn = (tier: string) =>
      Object.fromEntries(statuses.map((status) => [status.dataSource, status.missingCopies.get(tier) ?? 0]))
    return Object.fromEntries(tiers.map((tier) => [tier, missingIn(tier)]))
  }
  return Object.fromEntries(
    statuses.map((status) => {
      if (query.simple) return [status.dataSource, status.unavailableSegments]
      const { wantedSegments, unavailableSegments } = status
      return [
        status.dataSource,
        wantedSegments === 0 ? 100 : (100 * (wantedSegments - unavailableSegments)) / wantedSegments,
      ]
    }),
  )
}
