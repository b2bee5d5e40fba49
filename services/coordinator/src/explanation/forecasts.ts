import { type ExplainedCluster, forecastRun, type RunForecast } from '@svc/domain/explanation'
import type { RulesByName } from '@svc/domain/rules'
import { finishInSlices } from '@svc/shared/slices'
import { haveSameRules } from '../cluster-state/index.ts'

/** What a forecast depends on. The texts are created with the forecast, because the table changes later. */
interface ForecastBasis {
  readonly rules: RulesByName
  /** Everything else but what servers have and load. */
  readonly lasting: string
  /** What servers have and load. */
  readonly passing: string
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
      one.lasting === basis.lasting && haveSameRules(one.rules, basis.rules)
    const isUsable = (one: KeptForecast): boolean => {
      if (one.runs !== basis.runs || !isSameCluster(one)) return false
      const ageMs = one.finishedAtMs === undefined ? 0 : performance.now() - one.finishedAtMs
      return isMany ? ageMs < maxManyAgeMs : ageMs < maxAgeMs && one.passing === basis.passing
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
  const lasting = servers.map(
    ({ queuedLoads: _, usedSizeBytes: __, loadingSizeBytes: ___, ...server }) => server,
  )
  const passing = servers.map(({ queuedLoads, usedSizeBytes, loadingSizeBytes }) => [
    queuedLoads,
    usedSizeBytes,
    loadingSizeBytes,
  ])
  return {
    rules,
    runs,
    lasting: JSON.stringify([lasting, changes, limits, awaited]),
    passing: JSON.stringify([passing, table.servedChanges]),
  }
}
