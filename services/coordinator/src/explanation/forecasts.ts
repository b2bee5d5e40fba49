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
 * of runs so far. Forecasts of at least `many` used segments are reused while servers load and drop segments.
 */
export function createForecasts(
  countRuns: () => number,
  many = manySegments,
): (cluster: ExplainedCluster) => Promise<RunForecast> {
  let kept: KeptForecast | undefined
  return (cluster) => {
    const basis = basisOf(cluster, countRuns())
    const { usedCount } = cluster.table
    const isUsable = (one: KeptForecast): boolean => {
      if (one.lasting !== basis.lasting || !haveSameRules(one.rules, basis.rules)) return false
      const ageMs = one.finishedAtMs === undefined ? 0 : performance.now() - one.finishedAtMs
      return usedCount >= many
        ? ageMs < Math.max(maxAgeMs, usedCount * maxAgePerSegmentMs)
        : ageMs < maxAgeMs && one.passing === basis.passing
    }
    if (kept !== undefined && isUsable(kept)) return kept.forecast
    const started: KeptForecast = { ...basis, forecast: finishInSlices(forecastRun(cluster)) }
    kept = started
    started.forecast.then(
      () => {
        started.finishedAtMs = performance.now()
      },
      () => {
        if (kept === started) kept = undefined
      },
    )
    return started.forecast
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
    lasting: JSON.stringify([lasting, changes, limits, awaited, runs]),
    passing: JSON.stringify([passing, table.servedChanges]),
  }
}
