import { isDeepStrictEqual } from 'node:util'
import { type ExplainedCluster, forecastRun, type RunForecast } from '@svc/domain/explanation'
import { areEqualServers, type LoadingServer } from '@svc/domain/loading'
import { areFixed } from '@svc/domain/rules'
import { finishInBackground } from '@svc/shared/slices'
import { haveSameRules } from '../cluster-state/index.ts'

/** What a forecast depends on. The numbers of changes are copied, because the table changes later. */
interface ForecastBasis extends Pick<ExplainedCluster, 'rules' | 'servers' | 'limits' | 'awaited'> {
  /** Number of changes to the used segments of each datasource. */
  readonly changes: readonly number[]
  /** Number of changes to what servers have and to their pending requests. */
  readonly copyChanges: number
  /** Number of runs before. */
  readonly runs: number
}

interface KeptForecast extends ForecastBasis {
  readonly forecast: Promise<RunForecast>
  /** In milliseconds of the monotonic clock; undefined until the forecast is finished. */
  finishedAtMs?: number
  /** Calculates it as fast as possible from now on, because an explanation waits for it. */
  hurry(): void
}

// Time may pass the boundary of a rule.
const maxAgeMs = 1000
const manySegments = 50_000
// While servers load segments, the state changes all the time. So a forecast of a million segments is reused for 10 s, until the
// next run.
const maxAgePerSegmentMs = 0.01

/**
 * Returns a function that forecasts the next run. Explanations share a forecast until something changes, or, if the rules have
 * periods, for a second. `countRuns` returns the number of runs so far. Forecasts of at least `many` used segments are reused while
 * servers load and drop segments, and after a run until the next forecast is finished: what that run has requested is no longer to
 * do, and most of the rest still is.
 */
export function createForecasts(
  countRuns: () => number,
  many = manySegments,
): (cluster: ExplainedCluster) => Promise<RunForecast> {
  let newest: KeptForecast | undefined
  let finished: KeptForecast | undefined
  const start = (cluster: ExplainedCluster, basis: ForecastBasis, isAwaited: boolean): KeptForecast => {
    let isUrgent = isAwaited
    const started: KeptForecast = {
      ...basis,
      forecast: finishInBackground(forecastRun(cluster), () => isUrgent),
      hurry: () => {
        isUrgent = true
      },
    }
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
    const isOfLastRun = (one: KeptForecast): boolean => isMany && one.runs >= basis.runs - 1
    const isUsable = (one: KeptForecast): boolean => {
      if (!isSameCluster(one)) return false
      // Runs may end more often than a forecast, which would otherwise never be finished.
      if (one.finishedAtMs === undefined && isOfLastRun(one)) return true
      const isUnchanged = haveSameLoads(one, basis)
      if (isUnchanged && areFixed(basis.rules)) return true
      const ageMs = one.finishedAtMs === undefined ? 0 : performance.now() - one.finishedAtMs
      return one.runs === basis.runs && (isMany ? ageMs < maxManyAgeMs : ageMs < maxAgeMs && isUnchanged)
    }
    const usable = newest !== undefined && isUsable(newest) ? newest : undefined
    if (usable?.finishedAtMs !== undefined) return usable.forecast
    const isLastUsable = finished !== undefined && isOfLastRun(finished) && isSameCluster(finished)
    const last = isLastUsable ? finished : undefined
    const current = usable ?? start(cluster, basis, last === undefined)
    if (last !== undefined) return last.forecast
    current.hurry()
    return current.forecast
  }
}

function basisOf({ servers, table, limits, awaited, rules }: ExplainedCluster, runs: number): ForecastBasis {
  const changes = table.datasourceNames.map((_, number) => table.changesOf(number))
  return { rules, servers, limits, awaited, changes, copyChanges: table.copyChanges, runs }
}

/** Whether two clusters have the same used segments, servers, and limits. Servers may have and load other segments. */
const haveSameParts = (one: ForecastBasis, other: ForecastBasis): boolean =>
  one.servers.length === other.servers.length &&
  haveSameFields(one, other, Object.keys(lastingFields) as (keyof LoadingServer)[]) &&
  isDeepStrictEqual([one.changes, one.limits, one.awaited], [other.changes, other.limits, other.awaited])

/** Whether the servers of two clusters with the same parts have and load the same segments. */
const haveSameLoads = (one: ForecastBasis, other: ForecastBasis): boolean =>
  one.copyChanges === other.copyChanges && haveSameFields(one, other, passingFields)

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
  one.servers.every((server, index) => {
    const same = other.servers[index]!
    return areEqualServers(server, same) || fields.every((field) => server[field] === same[field])
  })
