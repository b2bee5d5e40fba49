import { isDeepStrictEqual } from 'node:util'
import { type ExplainedCluster, forecastRun, type RunForecast } from '@svc/domain/explanation'
import type { LoadingServer } from '@svc/domain/loading'
import { finishInSlices } from '@svc/shared/slices'
import { haveSameRules } from '../cluster-state/index.ts'

/** What a forecast depends on. The numbers of changes are copied, because the table changes later. */
interface ForecastBasis extends Pick<ExplainedCluster, 'rules' | 'servers' | 'limits' | 'awaited'> {
  /** Number of changes to the used segments of each datasource. */
  readonly changes: readonly number[]
  /** Number of changes to what servers have. */
  readonly servedChanges: number
  /** Number of runs before. */
  readonly runs: number
}

interface KeptForecast extends ForecastBasis {
  readonly forecast: Promise<RunForecast>
  /** In milliseconds of the monotonic clock; undefined until the forecast is finished. */
  finishedAtMs?: number
}

// Time may pass the boundary of a rule.
const maxAgeMs = 1000
const manySegments = 50_000
// A forecast of a million segments that await the next run takes about a second, and while servers load them, the state
// changes all the time. So a forecast of many segments is reused for ten times as long, until the next run.
const maxAgePerSegmentMs = 0.01

/**
 * Returns a function that forecasts the next run. Explanations in quick succession share a forecast. `countRuns` returns the number
 * of runs so far. Forecasts of at least `many` used segments are reused while servers load and drop segments, and after a run until
 * the next forecast is finished: what that run has requested is no longer to do, and most of the rest still is.
 */
export function createForecasts(
  countRuns: () => number,
  many = manySegments,
): (cluster: ExplainedCluster) => Promise<RunForecast> {
  let newest: KeptForecast | undefined
  let finished: KeptForecast | undefined
  const start = (cluster: ExplainedCluster, basis: ForecastBasis): KeptForecast => {
    const started: KeptForecast = { ...basis, forecast: finishInSlices(forecastRun(cluster)) }
    newest = started
    started.forecast.then(
      () => {
        started.finishedAtMs = performance.now()
        if (newest === started) finished = started
      },
      () => {
        if (newest === started) newest = undefined
      },
    )
    return started
  }
  return (cluster) => {
    const basis = basisOf(cluster, countRuns())
    const isMany = cluster.table.usedCount >= many
    const maxManyAgeMs = Math.max(maxAgeMs, cluster.table.usedCount * maxAgePerSegmentMs)
    const isSameCluster = (one: ForecastBasis): boolean =>
      haveSameParts(one, basis) && haveSameRules(one.rules, basis.rules)
    const isUsable = (one: KeptForecast): boolean => {
      if (one.runs !== basis.runs || !isSameCluster(one)) return false
      const ageMs = one.finishedAtMs === undefined ? 0 : performance.now() - one.finishedAtMs
      return isMany ? ageMs < maxManyAgeMs : ageMs < maxAgeMs && haveSameLoads(one, basis)
    }
    const current = newest !== undefined && isUsable(newest) ? newest : start(cluster, basis)
    const isLastRuns = isMany && finished !== undefined && finished.runs >= basis.runs - 1
    return current.finishedAtMs === undefined && isLastRuns && isSameCluster(finished!)
      ? finished!.forecast
      : current.forecast
  }
}

function basisOf({ servers, table, limits, awaited, rules }: ExplainedCluster, runs: number): ForecastBasis {
  const changes = table.datasourceNames.map((_, number) => table.changesOf(number))
  return { rules, servers, limits, awaited, changes, servedChanges: table.servedChanges, runs }
}

/** Whether two clusters have the same used segments, servers, and limits. Servers may have and load other segments. */
const haveSameParts = (one: ForecastBasis, other: ForecastBasis): boolean =>
  one.servers.length === other.servers.length &&
  haveSameFields(one, other, Object.keys(lastingFields) as (keyof LoadingServer)[]) &&
  isDeepStrictEqual([one.changes, one.limits, one.awaited], [other.changes, other.limits, other.awaited])

/** Whether the servers of two clusters with the same parts have and load the same segments. */
const haveSameLoads = (one: ForecastBasis, other: ForecastBasis): boolean =>
  one.servedChanges === other.servedChanges && haveSameFields(one, other, passingFields)

const passingFields = ['queuedLoads', 'usedSizeBytes', 'loadingSizeBytes'] as const

// A record of all other fields, so that a new field cannot be forgotten.
const lastingFields: Record<Exclude<keyof LoadingServer, (typeof passingFields)[number]>, true> = {
  number: true,
  name: true,
  type: true,
  tier: true,
  maxSizeBytes: true,
  decommissioning: true,
}

const haveSameFields = (
  one: ForecastBasis,
  other: ForecastBasis,
  fields: readonly (keyof LoadingServer)[],
): boolean =>
  one.servers.every((server, index) =>
    fields.every((field) => server[field] === other.servers[index]![field]),
  )
