import {
  assertRunnableBy,
  type ClusterCompactionConfig,
  type CompactionForecast,
  type CompactionPreviewRequest,
  compactionPreviewSchema,
  compareConfigs,
  comparePlans,
  defaultPolicies,
  type ForecastRun,
  formatClusterConfig,
  readCompactionPreview,
  totalsOfRuns,
} from '@svc/domain/compaction'
import { formatInstant, formatInterval } from '@svc/domain/time'
import { readLater } from '@svc/domain/validation'
import {
  type CompactionDriver,
  type CompactionPlanner,
  compactionPreviewLimits,
  compactionRateOf,
  compactionScheduleShape,
  driverOf,
  forecastOf,
  type LivePlan,
  type PlanRequest,
} from '@svc/shared/compaction'
import { type Access, jsonAnswer, jsonBody, type Route, route } from '@svc/shared/http'
import { accessTo } from '@svc/shared/security'
import type { ServiceContext } from '@svc/shared/service'
import { createSlices, finishInSlices } from '@svc/shared/slices'
import { missingDatasources, namesIn } from './missing-datasources.ts'

const maxRuns = 20
const maxMissing = 200
const maxTasksPerRun = 100
const maxDifferences = 200

interface Variant extends PlanRequest {
  readonly name: string
}

/** The endpoint for the schedule of compaction, with other policies and configurations next to it. */
export function compactionScheduleRoute(
  path: string,
  access: Access,
  planner: CompactionPlanner,
  { clock, settings }: Pick<ServiceContext, 'clock' | 'settings'>,
): Route {
  const slices = createSlices()
  const periodMs = settings.get('svc.compaction.period')

  async function plansOf(given: CompactionPreviewRequest): Promise<[Variant, LivePlan][]> {
    // Without datasources, this only reads the configuration of the cluster.
    const [present] = await planner.planEach([{ configs: [], segments: [] }])
    const variants = variantsOf(present!, given)
    const plans = await planner.planEach(variants)
    const named = variants.map((variant, index): [Variant, LivePlan] => [variant, plans[index]!])
    // Without configurations of its own, the other driver is only of interest with those of this one.
    return named.filter(([{ name }, { driver, configs }]) => name !== driver || configs.size > 0)
  }

  return route({
    method: 'POST',
    path,
    access,
    summary:
      'Simulate the next compaction runs (what they rewrite, and when), optionally with other policies and configurations',
    body: jsonBody(readLater(compactionPreviewSchema), compactionPreviewLimits),
    answers: [jsonAnswer(compactionScheduleShape)],
    handle: async ({ body, caller, signal }) => {
      const given = await slices.run(() => readCompactionPreview(body), signal)
      const plans = await plansOf(given)
      const [, first] = plans[0]!
      // The given configs may be for a different engine than the cluster's.
      for (const config of given.configs ?? []) assertRunnableBy(config, given.cluster ?? first.cluster)
      const { rate, isMeasured } = compactionRateOf(first)
      const variants: object[] = []
      const configured = plans.flatMap(([, { configs }]) => [...configs.keys()])
      const sees = await accessTo(caller, new Set([...namesIn(given), ...configured]), 'SEE')
      for (const [variant, live] of plans) {
        const forecast = await forecastOf(live, { now: clock.now(), periodMs, rate })
        const differences = live === first ? undefined : await differencesOf(first, live, sees)
        variants.push({ ...describeVariant(variant, live, forecast, sees), ...differences })
      }
      const described = plans.find(([{ name }]) => name === 'given')?.[1] ?? first
      const missing = missingDatasources(given, described, sees)
      return {
        speed: isMeasured ? 'measured' : 'assumed',
        msPerTask: Math.round(rate.msUntilStart + rate.msPerTask),
        bytesPerSecond: rate.msPerByte === 0 ? null : Math.round(1000 / rate.msPerByte),
        variants,
        missing: missing.slice(0, maxMissing),
        omittedMissing: Math.max(0, missing.length - maxMissing),
      }
    },
  })
}

/** Returns the variants to compare: what the cluster does now comes first. */
function variantsOf({ cluster: present, driver }: LivePlan, given: CompactionPreviewRequest): Variant[] {
  const { segments, workerCapacity } = given
  const hasGiven = given.cluster !== undefined || given.configs !== undefined
  const base = hasGiven ? given : { cluster: present, configs: undefined }
  const cluster = base.cluster ?? present
  const other = driver === 'duty' ? 'supervisors' : 'duty'
  const variants: Variant[] = [
    { name: 'current', driver, segments },
    ...(hasGiven ? [{ name: 'given', driver: driverOf(cluster), ...given, cluster }] : []),
    ...defaultPolicies
      .filter(({ type }) => type !== cluster.compactionPolicy.type)
      .map((compactionPolicy) => ({
        name: compactionPolicy.type,
        driver: driverOf(cluster),
        cluster: { ...cluster, compactionPolicy },
        configs: base.configs,
        segments,
      })),
    { name: 'migrated', driver: other, configsOf: driver, cluster: drivenBy(present, other), segments },
    { name: other, driver: other, cluster: drivenBy(present, other), segments },
  ]
  return variants.map((variant) => ({ ...variant, workerCapacity }))
}

/** The duty supports only the native engine. */
const drivenBy = (cluster: ClusterCompactionConfig, driver: CompactionDriver): ClusterCompactionConfig =>
  driver === 'duty'
    ? { ...cluster, useSupervisors: false, engine: 'native' }
    : { ...cluster, useSupervisors: true }

function describeVariant(
  { name }: Variant,
  { driver, cluster, plan }: LivePlan,
  { runs, tooFewSlots }: CompactionForecast,
  sees: (dataSource: string) => boolean,
): object {
  const visible = runs
    .map(({ at, tasks }) => ({
      at,
      tasks: tasks.filter(({ candidate }) => sees(candidate.dataSource)),
    }))
    .filter(({ tasks }) => tasks.length > 0)
  return {
    name,
    driver,
    clusterConfig: formatClusterConfig(cluster),
    slots: plan.slots,
    totals: describeTotals(visible),
    tooFewSlots: tooFewSlots.filter(({ dataSource }) => sees(dataSource)).length,
    runs: visible.slice(0, maxRuns).map(describeRun),
    omittedRuns: Math.max(0, visible.length - maxRuns),
  }
}

function describeTotals(runs: readonly ForecastRun[]): object {
  const { endsAt, slotMs, ...totals } = totalsOfRuns(runs)
  return {
    ...totals,
    slotSeconds: Math.round(slotMs / 1000),
    ...(endsAt === undefined ? {} : { endsAt: formatInstant(Math.round(endsAt)) }),
  }
}

const describeRun = (run: ForecastRun): object => ({
  at: formatInstant(run.at),
  totals: describeTotals([run]),
  tasks: run.tasks.slice(0, maxTasksPerRun).map(({ candidate, slots, bytes, endsAt }) => ({
    dataSource: candidate.dataSource,
    interval: formatInterval(candidate.compactionInterval),
    bytes,
    slots,
    endsAt: formatInstant(Math.round(endsAt)),
    reason: candidate.reason,
  })),
})

async function differencesOf(
  before: LivePlan,
  after: LivePlan,
  sees: (dataSource: string) => boolean,
): Promise<object> {
  const isSeen = ({ dataSource }: { readonly dataSource: string }): boolean => sees(dataSource)
  const intervals = (await finishInSlices(comparePlans(before, after))).filter(isSeen)
  const configs = (await finishInSlices(compareConfigs(before, after))).filter(isSeen)
  return {
    configDifferences: configs.slice(0, maxDifferences),
    omittedConfigDifferences: Math.max(0, configs.length - maxDifferences),
    differences: intervals
      .slice(0, maxDifferences)
      .map(({ interval, ...one }) => ({ ...one, interval: formatInterval(interval) })),
    omittedDifferences: Math.max(0, intervals.length - maxDifferences),
  }
}
