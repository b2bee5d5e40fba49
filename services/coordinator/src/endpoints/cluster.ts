import { setImmediate } from 'node:timers/promises'
import { unavailable } from '@svc/domain/failure'
import { jsonObjectOfMemberTexts, jsonObjectOfTexts, memberText } from '@svc/domain/json'
import type { LoadingServer } from '@svc/domain/loading'
import { ascending } from '@svc/domain/order'
import { type DatasourceLoadStatus, loadStatusOf, serversWithoutStorage } from '@svc/domain/retention'
import { defaultRulesName, type RulesByName } from '@svc/domain/rules'
import { sortInSteps } from '@svc/domain/steps'
import { countOf } from '@svc/domain/text'
import type { Interval } from '@svc/domain/time'
import { omittable } from '@svc/domain/validation'
import { type Role, roles } from '@svc/shared/config'
import { serverPartsOf } from '@svc/shared/coordinator-dynamic-config'
import { leaderAndDutyRoutes } from '@svc/shared/duties'
import { datasource, jsonAnswer, noContent, Reply, type Route, route, state } from '@svc/shared/http'
import { accessTo, type Caller, mayAccess } from '@svc/shared/security'
import type { ServiceContext } from '@svc/shared/service'
import { finishInSlices } from '@svc/shared/slices'
import { presence, textParameter } from '@svc/shared/wire'
import * as z from 'zod'
import { warningsHeader } from '../answers/index.ts'
import type { ClusterView } from '../cluster-view.ts'
import { loadCoordinatorConfig, readableRules } from '../inventory/index.ts'
import { atLeader } from '../leadership/index.ts'
import { pathInterval } from './datasources.ts'

const base = '/svc/coordinator/v1'

const nodeShape = z
  .object({
    host: z.string(),
    service: z.string(),
    plaintextPort: z.int().optional(),
    tlsPort: z.int().optional(),
  })
  .meta({ title: 'ClusterNode' })

const numbersShape = z.record(z.string(), z.number())
const loadStatusShape = z.union([numbersShape, z.record(z.string(), numbersShape)])

// With full, computeUsingClusterView omits replicas for which a tier has too few servers.
const loadStatusQuery = { simple: presence, full: presence, computeUsingClusterView: presence }
type LoadStatusQuery = Readonly<Record<keyof typeof loadStatusQuery, boolean>>
const loadStatusOfOneQuery = { ...loadStatusQuery, interval: omittable(textParameter) }

/** Returns the endpoints for leadership, the nodes of the cluster, duties, and the load status. */
export function clusterRoutes(view: ClusterView): Route[] {
  const { context, leadership, dutyGroups } = view
  return [
    ...leaderAndDutyRoutes('coordinator', base, {
      discovery: context.discovery,
      dutyGroups,
      term: leadership.term,
    }),
    route({
      method: 'GET',
      path: `${base}/cluster`,
      access: state('READ'),
      summary: 'List the servers of the cluster by role',
      answers: [jsonAnswer(z.record(z.string(), z.array(nodeShape)))],
      handle: async ({ word }) => {
        await context.discovery.refresh()
        // Most clusters run tasks on overlords only, so list workers only if there are any.
        const named = roles.filter((role) => role !== 'worker' || context.discovery.nodes(role).length > 0)
        return Object.fromEntries(named.map((role) => [role, nodesOf(context, role, word)]))
      },
    }),
    ...loadStatusRoutes(view).map((one) => atLeader(leadership, context, one)),
  ]
}

/** The load status of all datasources, or of one. Only the leader knows it. */
function loadStatusRoutes(view: ClusterView): Route[] {
  return [
    route({
      method: 'GET',
      path: `${base}/loadstatus`,
      access: state('READ'),
      summary:
        'Get the load status of all datasources: percent loaded, segments left to load (`simple`), or replicas left to load by tier (`full`)',
      query: loadStatusQuery,
      answers: [jsonAnswer(loadStatusShape)],
      handle: async ({ query, caller }) => {
        const { status, headers } = await loadStatus(view, query, caller)
        return new Reply(200, status, headers)
      },
    }),
    route({
      method: 'GET',
      path: `${base}/datasources/:dataSource/loadstatus`,
      access: datasource('READ'),
      summary: 'Get the load status of one datasource, or only of its segments that overlap an interval',
      query: loadStatusOfOneQuery,
      answers: [
        jsonAnswer(loadStatusShape),
        noContent('The datasource has no used segments in the interval'),
      ],
      handle: async ({ params, query, caller }) => {
        const { dataSource = '' } = params
        const { status, headers, isEmpty } = await loadStatus(view, query, caller, {
          dataSource,
          within: query.interval === undefined ? undefined : pathInterval(query.interval),
        })
        return isEmpty ? new Reply(204) : new Reply(200, status, headers)
      },
    }),
  ]
}

function nodesOf({ discovery }: Pick<ServiceContext, 'discovery'>, role: Role, word: string) {
  return discovery.nodes(role).map(({ host, service, plaintextPort, tlsPort }) => ({
    host,
    service: service.replace(/^svc(?=\/)/, word),
    ...(plaintextPort === null ? {} : { plaintextPort }),
    ...(tlsPort === null ? {} : { tlsPort }),
  }))
}

async function loadStatus(
  { context, segments, servers, rules }: ClusterView,
  query: LoadStatusQuery,
  caller: Caller,
  only?: { readonly dataSource: string; readonly within: Interval | undefined },
): Promise<{
  /** As JSON. */
  readonly status: string
  readonly headers: Record<string, string>
  /** Whether no datasource has used segments in the interval. */
  readonly isEmpty: boolean
}> {
  const [currentRules, config] = await Promise.all([
    rules.current(),
    loadCoordinatorConfig(context.database),
    segments.refresh(),
  ])
  if (!currentRules.has(defaultRulesName)) throw unavailable('The default rules have not been stored yet')
  const { table } = segments
  const loadingServers = servers.loadingServers(performance.now(), serverPartsOf(config))
  const numbers =
    only === undefined ? table.datasourceNames.keys() : [table.datasourceNumber(only.dataSource)]
  const statuses: DatasourceLoadStatus[] = []
  for (const number of numbers) {
    if (table.usedCountOf(number) === 0) continue
    const now = context.clock.now()
    const status = loadStatusOf(table, number, currentRules, loadingServers, now, only?.within)
    const isShown = only !== undefined || (await mayAccess(caller, status.dataSource, 'SEE'))
    if (isShown && status.segments > 0) statuses.push(status)
    // Takes a few milliseconds per datasource, so let other requests run in between.
    await setImmediate()
  }
  // A warning because of other rules would reveal that they exist.
  const shownRules = readableRules(currentRules, await accessTo(caller, currentRules.keys(), 'SEE'))
  const headers = {
    'Content-Type': 'application/json; charset=utf-8',
    'X-Svc-Warnings': loadWarnings(statuses, shownRules, loadingServers),
  }
  return {
    status: await describeStatuses(statuses, query),
    headers,
    isEmpty: statuses.length === 0,
  }
}

// More warnings than fit into the header are only counted: rules may name thousands of tiers.
const maxDescribedWarnings = 100

/** Returns the header with warnings about replicas that rules require and that no server can load. */
function loadWarnings(
  statuses: readonly DatasourceLoadStatus[],
  rules: RulesByName,
  servers: readonly LoadingServer[],
): string {
  const tiers = new Set(servers.filter(({ type }) => type === 'historical').map(({ tier }) => tier))
  const unable = serversWithoutStorage(rules, servers).map(({ name, type }) => ({
    type: 'serverCannotHoldSegments',
    server: name,
    message: `The ${type} [${name}] cannot load broadcast segments because it has no segment cache; set [svc.segmentCache.locations] on this server`,
  }))
  const withoutServers: object[] = []
  let count = unable.length
  for (const { dataSource, missingCopies } of statuses)
    for (const [tier, copies] of missingCopies) {
      if (tiers.has(tier)) continue
      count += 1
      if (withoutServers.length >= maxDescribedWarnings) continue
      withoutServers.push({
        type: 'tierWithoutServers',
        dataSource,
        tier,
        copies,
        message: `Datasource [${dataSource}] needs ${countOf(copies, 'replica')} in tier [${tier}], which has no servers`,
      })
    }
  return warningsHeader([...withoutServers, ...unable], count)
}

/** Returns the load status as JSON. */
async function describeStatuses(
  statuses: readonly DatasourceLoadStatus[],
  query: LoadStatusQuery,
): Promise<string> {
  // Like Druid 37, simple takes precedence.
  if (query.full && !query.simple)
    return await finishInSlices(missingByTier(statuses, query.computeUsingClusterView))
  return jsonObjectOfTexts(
    statuses.map(({ dataSource, wantedSegments, unavailableSegments }) => {
      const percent =
        wantedSegments === 0 ? 100 : (100 * (wantedSegments - unavailableSegments)) / wantedSegments
      return [dataSource, String(query.simple ? unavailableSegments : percent)]
    }),
  )
}

// Tiers to read or describe between two pauses. This takes about a millisecond.
const tiersPerStep = 1000

/**
 * Returns the missing replicas by tier and datasource as JSON. Pauses regularly and composes the text, because rules may name
 * thousands of tiers, whose objects would take megabytes. `onlyLoadable` omits replicas for which a tier has too few servers.
 */
function* missingByTier(
  statuses: readonly DatasourceLoadStatus[],
  onlyLoadable: boolean,
): Generator<undefined, string> {
  const byTier = new Map<string, string[]>()
  let read = 0
  for (const { dataSource, requiredTiers, servedCopies, missingCopies, loadableCopies } of statuses) {
    const missing = onlyLoadable ? loadableCopies : missingCopies
    for (const tiers of [requiredTiers, servedCopies.keys()])
      for (const tier of tiers) {
        read += 1
        if (read % tiersPerStep === 0) yield
        if (tiers !== requiredTiers && requiredTiers.has(tier)) continue
        const member = memberText([dataSource, String(missing.get(tier) ?? 0)])
        const members = byTier.get(tier)
        if (members) members.push(member)
        else byTier.set(tier, [member])
      }
  }
  // Sort the tiers, because the order in which servers were first seen changes with every start and clients compare responses.
  const tiers = yield* sortInSteps([...byTier.keys()], ascending)
  const members: string[] = []
  for (const tier of tiers) {
    members.push(memberText([tier, jsonObjectOfMemberTexts(byTier.get(tier)!)]))
    if (members.length % tiersPerStep === 0) yield
  }
  return jsonObjectOfMemberTexts(members)
}
