import { invalidInput } from '../failure/index.ts'
import { formatCount } from '../text/index.ts'
import { formatInstant, formatInterval, type Interval, type Period } from '../time/index.ts'
import type { AnsweredDatasource, AnsweredSummary, AnsweredTier } from './answer.ts'
import { type Buckets, bucketsOf, formatBuckets } from './buckets.ts'
import type { PreviewStep } from './course.ts'
import { decideUnplaced, type Outcome, type PreviewInput, placeOutcome } from './decide-outcome.ts'
import { Effects, effectsOf } from './effects.ts'
import { foresee, type Horizon, stepTimes } from './future-steps.ts'
import { decideSteps, formatLaterLosses, LossBegins } from './later-losses.ts'
import { type PreviewRow, rowCount, rowsOf } from './rows.ts'
import type { SegmentColumns, Tally } from './segments.ts'
import { SimulatedSteps } from './simulated-steps.ts'
import { capacityOf, type DatasourceSummary, summarize, type TierSummary } from './summary.ts'
import { addTally, type CopyTally, noCopies } from './tallies.ts'
import { type PreviewWarning, type WarningsContext, warningsOf } from './warnings.ts'

/** The input of a preview, and what to include in the answer. */
export interface PreviewQuestion extends PreviewInput, WarningsContext {
  /** Datasources to include in the answer. The others only take space on servers. */
  readonly concerned: ReadonlySet<string>
  readonly horizon: Period | undefined
  /** Maximum number of buckets that show bytes over time; undefined for none. */
  readonly buckets?: number | undefined
}

/** What a rule change would do. */
export interface PreviewResult {
  readonly outcome: Outcome
  readonly concerned: ReadonlySet<string>
  readonly datasources: readonly DatasourceSummary[]
  /** Effects by datasource, in the same order. */
  readonly effects: readonly Effects[]
  /** Effects on all these datasources. */
  readonly totalEffects: Effects
  readonly buckets: Buckets | undefined
  readonly tiers: readonly TierSummary[]
  readonly steps: readonly PreviewStep[] | undefined
  /** When losses begin. */
  readonly begins: LossBegins
  readonly warnings: readonly PreviewWarning[]
}

// Maximum number of summary rows in an answer with a horizon. They take tens of megabytes.
const maxStepRows = 50_000
// Maximum number of rows in the summary itself, one for each datasource and tier.
const maxSummaryRows = 200_000
// Number of rows and their tiers to create between two pauses.
const rowSlice = 5000
// Maximum number of tiers in all rows of an answer. They take tens of megabytes.
const maxTiersInRows = 2_500_000

/** Counts the tiers in rows, and throws invalidInput if an answer gets too large. */
class RowMeter {
  private tiers = 0
  private untilPause = rowSlice

  /** Returns whether to pause. */
  add({ loaded }: PreviewRow): boolean {
    const tiers = Object.keys(loaded).length
    this.tiers += tiers
    if (this.tiers > maxTiersInRows) {
      throw invalidInput(
        `The preview is too large: more than [${formatCount(maxTiersInRows)}] segment-tier pairs. Preview fewer segments or tiers.`,
      )
    }
    this.untilPause -= 10 + tiers
    if (this.untilPause > 0) return false
    this.untilPause = rowSlice
    return true
  }
}

/** Decides what a rule change would do. Yields regularly, so that the caller can do other work. */
export function* decidePreview(question: PreviewQuestion): Generator<undefined, PreviewResult> {
  const { now, concerned, horizon } = question
  const moments = horizon === undefined ? undefined : stepTimes(now, horizon)
  const tierCount = new Set(question.servers.map(({ tier }) => tier)).size
  const rows = (moments?.length ?? 0) * concerned.size * Math.max(1, tierCount)
  if (rows > maxStepRows) {
    throw invalidInput(
      `The preview is too large: [${moments?.length}] steps for [${concerned.size}] datasources and [${tierCount}] tiers. Use a shorter horizon, or preview rules for fewer datasources.`,
      { field: 'horizon' },
    )
  }
  const { datasources } = question
  if (datasources.length * tierCount > maxSummaryRows) {
    throw invalidInput(
      `The preview is too large: [${datasources.length}] datasources and [${tierCount}] tiers. Preview at most [${maxSummaryRows}] datasource-tier pairs.`,
    )
  }
  const future = moments && { concerned, moments, assumesSpace: question.assumesSpace ?? false }
  const { outcome, foreseen } = yield* decideOutcome(question, future)
  const summaries: DatasourceSummary[] = []
  const effects: Effects[] = []
  const totalEffects = new Effects()
  const unplaced = outcome.cluster.tiers.map(noCopies)
  for (const datasource of outcome.datasources) {
    const found = yield* summarize(datasource, outcome)
    summaries.push(found.summary)
    if (concerned.has(found.summary.dataSource)) {
      const ofDatasource = yield* effectsOf(datasource)
      effects.push(ofDatasource)
      totalEffects.addAll(ofDatasource)
    }
    found.unplaced.forEach((tally, tier) => {
      addTally(unplaced[tier]!, tally)
    })
  }
  const tiers = tiersOf(outcome, summaries, unplaced)
  const first = { now, losses: totalEffects, tiers }
  const { steps, begins } =
    future && foreseen
      ? yield* decideSteps(outcome, future, first, foreseen)
      : { steps: undefined, begins: new LossBegins(first) }
  return {
    outcome,
    concerned,
    datasources: summaries.filter(({ dataSource }) => concerned.has(dataSource)),
    effects,
    totalEffects,
    buckets:
      question.buckets === undefined ? undefined : yield* bucketsOf(outcome, concerned, question.buckets),
    tiers,
    steps,
    begins,
    warnings: yield* warningsOf(outcome, concerned, question, tiers),
  }
}

/** Decides what happens at the time of the preview, and foresees the steps of a horizon. */
function* decideOutcome(
  question: PreviewQuestion,
  horizon: Horizon | undefined,
): Generator<
  undefined,
  { readonly outcome: Outcome; readonly foreseen: readonly PreviewStep[] | SimulatedSteps | undefined }
> {
  const { assumesSpace } = question
  const unplaced = yield* decideUnplaced(question)
  const foreseen = horizon && (yield* foresee(unplaced, horizon))
  const placement =
    foreseen instanceof SimulatedSteps ? { simulation: foreseen.simulation } : { assumesSpace }
  return { outcome: yield* placeOutcome(unplaced, placement), foreseen }
}

function tiersOf(
  { cluster }: Outcome,
  summaries: readonly DatasourceSummary[],
  unplaced: readonly CopyTally[],
): TierSummary[] {
  return cluster.tiers.map((tier, index) => ({
    tier: tier.name,
    servers: tier.servers.length,
    capacityBytes: capacityOf(tier),
    bytesBefore: summaries.reduce((sum, { tiers }) => sum + tiers[index]!.before.bytes, 0),
    bytesAfter: summaries.reduce((sum, { tiers }) => sum + tiers[index]!.after.bytes, 0),
    doesNotFit: unplaced[index]!,
  }))
}

/** Returns a page of rows, and the total number of rows in the answer. Yields regularly. */
export function* pageOfRows(
  { outcome, concerned }: PreviewResult,
  { offset, limit }: { readonly offset: number; readonly limit: number },
): Generator<undefined, { readonly rows: readonly PreviewRow[]; readonly total: number }> {
  const rows: PreviewRow[] = []
  const meter = new RowMeter()
  let total = 0
  for (const datasource of outcome.datasources) {
    if (!concerned.has(datasource.columns.dataSource)) continue
    const count = rowCount(datasource)
    if (total + count > offset && rows.length < limit) {
      for (const { row } of rowsOf(datasource, outcome, Math.max(0, offset - total))) {
        if (rows.length === limit) break
        rows.push(row)
        if (meter.add(row)) yield
      }
    }
    total += count
  }
  return { rows, total }
}

/** Returns the rows of the segments in a request, in the same order as in the request. Yields regularly. */
export function* rowsInPlaces(
  { outcome }: PreviewResult,
  places: readonly (readonly number[])[],
): Generator<undefined, PreviewRow[]> {
  const rows: PreviewRow[] = []
  const meter = new RowMeter()
  for (const [number, datasource] of outcome.datasources.entries()) {
    for (const { index, row } of rowsOf(datasource, outcome)) {
      if (meter.add(row)) yield
      rows[places[number]![index]!] = row
    }
  }
  return rows
}

const formatOptional = (interval: Interval | undefined): string | null =>
  interval === undefined ? null : formatInterval(interval)

/** Returns the summary as JSON. `withTiers` adds totals by tier. */
export function formatSummary(
  { outcome, datasources, effects, totalEffects, buckets, tiers, steps, begins }: PreviewResult,
  withTiers: boolean,
): AnsweredSummary {
  const names = outcome.cluster.tiers.map(({ name }) => name)
  const used = new Map(outcome.datasources.map((one) => [one.columns.dataSource, usedIn(one.columns)]))
  const withEffects = (summary: DatasourceSummary, index: number) => ({
    used: used.get(summary.dataSource)!,
    effects: effects[index]!.format(),
    ...formatDatasource(summary, names),
  })
  return {
    effects: totalEffects.format(),
    ...(buckets === undefined ? {} : { buckets: formatBuckets(buckets, names) }),
    datasources: byDatasource(datasources, withEffects),
    ...(withTiers
      ? {
          used: sumOf([...used.values()]),
          tiers: formatTiers(tiers, (tier) => ({
            doesNotFitFrom: formatOptionalInstant(begins.inTier(tier)),
          })),
        }
      : {}),
    ...(steps === undefined
      ? {}
      : {
          steps: steps.map((step) => ({
            now: formatInstant(step.now),
            datasources: byDatasource(step.datasources, (summary) => formatDatasource(summary, names)),
            ...(withTiers ? { tiers: formatTiers(step.tiers, () => ({})) } : {}),
          })),
          laterLosses: formatLaterLosses(steps, totalEffects, begins),
        }),
  }
}

const byDatasource = <Formatted>(
  summaries: readonly DatasourceSummary[],
  format: (summary: DatasourceSummary, index: number) => Formatted,
): Record<string, Formatted> =>
  Object.fromEntries(summaries.map((summary, index) => [summary.dataSource, format(summary, index)]))

/** Returns the visible segments of a datasource. */
const usedIn = ({ count, bytesBefore }: SegmentColumns): Tally => ({
  segments: count,
  bytes: bytesBefore[count]!,
})

const sumOf = (tallies: readonly Tally[]): Tally => ({
  segments: tallies.reduce((sum, { segments }) => sum + segments, 0),
  bytes: tallies.reduce((sum, { bytes }) => sum + bytes, 0),
})

function formatDatasource(
  { tiers, markedUnused, oldestKept, newestKept }: DatasourceSummary,
  names: readonly string[],
): AnsweredDatasource {
  return {
    tiers: Object.fromEntries(tiers.map((change, index) => [names[index], change])),
    markedUnused,
    oldestInterval: formatOptional(oldestKept),
    newestInterval: formatOptional(newestKept),
  }
}

const formatOptionalInstant = (instant: number | undefined): string | null =>
  instant === undefined ? null : formatInstant(instant)

/** Returns tiers by name, with `more` about each of them. */
function formatTiers<More extends object>(
  tiers: readonly TierSummary[],
  more: (tier: number) => More,
): Record<string, AnsweredTier & More> {
  return Object.fromEntries(
    tiers.map(({ tier, capacityBytes, ...rest }, index) => [
      tier,
      {
        ...rest,
        capacityBytes: Number.isFinite(capacityBytes) ? capacityBytes : null,
        ...more(index),
      },
    ]),
  )
}
