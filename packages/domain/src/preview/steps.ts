import { RuleBoundaries } from '../rules/index.ts'
import { addPeriod, type Period, readPeriod } from '../time/index.ts'
import type { RuleTarget } from './cluster.ts'
import type { DatasourceOutcome, Outcome } from './outcome.ts'
import type { Tally } from './segments.ts'
import { stretchesOf } from './stretches.ts'
import { capacityOf, type DatasourceSummary, keptIntervals, type TierSummary } from './summary.ts'
import { addChange, type MutableTierChange, noChange, noCopies } from './tallies.ts'

/** The state of the cluster as of a moment in the future, each with the changes since the step before. */
export interface PreviewStep {
  readonly now: number
  readonly datasources: readonly DatasourceSummary[]
  readonly tiers: readonly TierSummary[]
}

/** A horizon is cut into no more steps than this. */
const mostSteps = 120
/** And into no fewer, where that many minutes fit. */
const fewestSteps = 12

// Neighbours are so close that twelve of the one are less than 120 of the other.
const stepPeriods = ['P1M', 'P1W', 'P1D', 'PT6H', 'PT1H', 'PT15M', 'PT5M', 'PT1M'].map(
  (text) => readPeriod(text) as Period,
)

const times = (period: Period, count: number): Period =>
  Object.fromEntries(
    Object.entries(period).map(([unit, amount]) => [unit, amount * count]),
  ) as unknown as Period

/**
 * The moments from `now` to the end of a horizon of at most ten years: months, weeks, days, hours or minutes apart, so
 * that there are 12 to 120 of them; the last is the end of the horizon.
 */
export function stepTimes(now: number, horizon: Period): number[] {
  const end = addPeriod(now, horizon)
  if (end <= now) return []
  const period =
    stepPeriods.find((candidate) => addPeriod(now, times(candidate, fewestSteps)) <= end) ??
    (stepPeriods.at(-1) as Period)
  const moments: number[] = []
  for (let count = 1; count < mostSteps; count += 1) {
    const moment = addPeriod(now, times(period, count))
    if (moment >= end) break
    moments.push(moment)
  }
  return [...moments, end]
}

/** Neighbouring segments that are in one state; `target` is undefined once they have been marked unused. */
interface Part {
  readonly from: number
  readonly to: number
  readonly rule: number | undefined
}

/**
 * What the steps of a horizon would bring, as if the duties ran at each of them and no data were added. What a drop
 * rule has caught stays unused. Whether everything fits is told by the bytes of whole tiers.
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

/** How many segments go from one target to another, whatever the number of tiers is. */
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

  /** Adds what changes by tier; pauses now and then. */
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
    // Parts of one chain that are alike become one, so that their number does not grow with the steps.
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
    // Of what is beyond the room only the bytes are known: the share of copies and segments goes with them.
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
