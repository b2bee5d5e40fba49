import { RuleBoundaries } from '../rules/index.ts'
import { addPeriod, type Period, periodOf } from '../time/index.ts'
import type { DatasourceOutcome } from './datasource-outcome.ts'
import type { Outcome } from './decide-outcome.ts'
import type { RuleTarget } from './rule-targets.ts'
import type { Tally } from './segments.ts'
import { stretchesOf } from './stretches.ts'
import { capacityOf, type DatasourceSummary, keptIntervals, type TierSummary } from './summary.ts'
import { addChange, type MutableTierChange, noChange, noCopies } from './tallies.ts'

/** The state of the cluster at a point in the future, with the changes since the previous step. */
export interface PreviewStep {
  readonly now: number
  readonly datasources: readonly DatasourceSummary[]
  readonly tiers: readonly TierSummary[]
}

/** Maximum number of steps in a horizon. */
const maxSteps = 120
/** Minimum number of steps, unless the horizon has fewer minutes. */
const minSteps = 12

// Neighbors are close enough that 12 of the longer are less than 120 of the shorter.
const stepPeriods = ['P1M', 'P1W', 'P1D', 'PT6H', 'PT1H', 'PT15M', 'PT5M', 'PT1M'].map(
  (text) => periodOf(text) as Period,
)

const times = (period: Period, count: number): Period =>
  Object.fromEntries(
    Object.entries(period).map(([unit, amount]) => [unit, amount * count]),
  ) as unknown as Period

/**
 * Returns the times of the steps from `now` to the end of a horizon of at most ten years. They are months, weeks, days,
 * hours, or minutes apart, so that there are 12 to 120 of them. The last is the end of the horizon.
 */
export function stepTimes(now: number, horizon: Period): number[] {
  const end = addPeriod(now, horizon)
  if (end <= now) return []
  const period =
    stepPeriods.find((candidate) => addPeriod(now, times(candidate, minSteps)) <= end) ??
    (stepPeriods.at(-1) as Period)
  const moments: number[] = []
  for (let count = 1; count < maxSteps; count += 1) {
    const moment = addPeriod(now, times(period, count))
    if (moment >= end) break
    moments.push(moment)
  }
  return [...moments, end]
}

/** Consecutive segments in the same state. `rule` is undefined after they have been marked unused. */
interface Part {
  readonly from: number
  readonly to: number
  readonly rule: number | undefined
}

/**
 * Decides what happens at each step of a horizon if the coordinator runs at each step and no data is added. Segments
 * that a drop rule has marked unused stay unused. What does not fit is estimated from the total bytes of each tier.
 */
export function* decideSteps(
  outcome: Outcome,
  concerned: ReadonlySet<string>,
  moments: readonly number[],
): Generator<undefined, PreviewStep[]> {
  let states = outcome.datasources.map((datasource): readonly Part[] =>
    datasource.stretches.map(({ from, to, rule }) => ({
      from,
      to,
      rule: datasource.targetOf(rule).action === 'drop' ? undefined : rule,
    })),
  )
  const steps: PreviewStep[] = []
  for (const now of moments) {
    const next: (readonly Part[])[] = []
    const summaries: DatasourceSummary[] = []
    for (const [index, datasource] of outcome.datasources.entries()) {
      yield
      const boundaries = new RuleBoundaries(datasource.own, datasource.defaults, now)
      const stretches = yield* stretchesOf(datasource.columns, boundaries)
      const { parts, summary } = yield* stepOf(datasource, states[index]!, stretches, outcome)
      next.push(parts)
      summaries.push(summary)
    }
    states = next
    steps.push({
      now,
      datasources: summaries.filter(({ dataSource }) => concerned.has(dataSource)),
      tiers: tiersOf(outcome, summaries),
    })
  }
  return steps
}

/** Counts segments that change from one target to another, independent of the number of tiers. */
class ChangedTargets {
  private readonly tallies = new Map<
    RuleTarget | undefined,
    Map<RuleTarget | undefined, { segments: number; bytes: number }>
  >()

  add(old: RuleTarget | undefined, next: RuleTarget | undefined, { segments, bytes }: Tally): void {
    let ofOld = this.tallies.get(old)
    if (ofOld === undefined) {
      ofOld = new Map()
      this.tallies.set(old, ofOld)
    }
    const tally = ofOld.get(next)
    if (tally === undefined) {
      ofOld.set(next, { segments, bytes })
      return
    }
    tally.segments += segments
    tally.bytes += bytes
  }

  /** Adds the changes by tier. Yields regularly. */
  *addTo(changes: readonly MutableTierChange[]): Generator<undefined, void> {
    for (const [old, ofOld] of this.tallies) {
      for (const [next, { segments, bytes }] of ofOld) {
        yield
        for (const { holder, copies } of old?.holders ?? []) {
          const change = changes[holder]
          if (change) addChange(change, segments, bytes, copies, next?.byHolder.get(holder)?.copies ?? 0)
        }
        for (const { holder, copies } of next?.holders ?? []) {
          const change = changes[holder]
          if (change && !old?.byHolder.has(holder)) addChange(change, segments, bytes, 0, copies)
        }
      }
    }
  }
}

function* stepOf(
  datasource: DatasourceOutcome,
  before: readonly Part[],
  stretches: readonly Part[],
  { cluster }: Outcome,
): Generator<undefined, { readonly parts: readonly Part[]; readonly summary: DatasourceSummary }> {
  const { columns, targetOf } = datasource
  const { bytesBefore } = columns
  const markedUnused = { segments: 0, bytes: 0 }
  const changed = new ChangedTargets()
  const parts: { from: number; to: number; rule: number | undefined }[] = []
  let at = 0
  let beforeAt = 0
  let chainAt = 0
  for (let from = 0; from < columns.count; ) {
    const stretch = stretches[at]!
    const old = before[beforeAt]!
    const to = Math.min(stretch.to, old.to)
    const bytes = bytesBefore[to]! - bytesBefore[from]!
    const caught = old.rule === undefined || targetOf(stretch.rule!).action === 'drop'
    const rule = caught ? undefined : stretch.rule
    if (caught && old.rule !== undefined) {
      markedUnused.segments += to - from
      markedUnused.bytes += bytes
    }
    changed.add(
      old.rule === undefined ? undefined : targetOf(old.rule),
      rule === undefined ? undefined : targetOf(rule),
      { segments: to - from, bytes },
    )
    // Merges equal neighbors in a chain, so that the number of parts does not grow with the number of steps.
    const previous = parts.at(-1)
    const isChainStart = from === (chainAt === 0 ? 0 : columns.chainEnds[chainAt - 1]!)
    if (previous !== undefined && previous.rule === rule && !isChainStart) previous.to = to
    else parts.push({ from, to, rule })
    if (to === stretch.to) at += 1
    if (to === old.to) beforeAt += 1
    while (chainAt < columns.chainEnds.length && columns.chainEnds[chainAt]! <= to) chainAt += 1
    from = to
  }
  const changes = cluster.tiers.map(noChange)
  yield* changed.addTo(changes)
  const kept = keptIntervals(columns, parts, (part) => part.rule !== undefined)
  return { parts, summary: { dataSource: columns.dataSource, tiers: changes, markedUnused, ...kept } }
}

function tiersOf({ cluster }: Outcome, summaries: readonly DatasourceSummary[]): TierSummary[] {
  return cluster.tiers.map((tier, index) => {
    const total = noCopies()
    let bytesBefore = 0
    for (const { tiers } of summaries) {
      const { before, after } = tiers[index]!
      bytesBefore += before.bytes
      total.segments += after.segments
      total.copies += after.copies
      total.bytes += after.bytes
    }
    const capacityBytes = capacityOf(tier)
    const beyond = Math.max(0, total.bytes - capacityBytes)
    // Only the excess bytes are known. The excess replicas and segments are estimated in proportion.
    const share = (count: number): number => (beyond === 0 ? 0 : Math.ceil((count * beyond) / total.bytes))
    return {
      tier: tier.name,
      servers: tier.servers.length,
      capacityBytes,
      bytesBefore,
      bytesAfter: total.bytes - beyond,
      doesNotFit: { segments: share(total.segments), copies: share(total.copies), bytes: beyond },
    }
  })
}
