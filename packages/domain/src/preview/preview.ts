import { invalidInput } from '../failure/index.ts'
import { formatInstant, formatInterval, type Interval, type Period } from '../time/index.ts'
import { decideOutcome, type Outcome, type PreviewInput } from './outcome.ts'
import { type PreviewRow, rowCount, rowsOf } from './rows.ts'
import { decideSteps, type PreviewStep, stepTimes } from './steps.ts'
import { capacityOf, type DatasourceSummary, summarize, type TierSummary } from './summary.ts'
import { addTally, type CopyTally, noCopies } from './tallies.ts'
import { type PreviewWarning, warningsOf } from './warnings.ts'

/** What a preview is to tell, beside what it looks at. */
export interface PreviewQuestion extends PreviewInput {
  /** The datasources that the answer tells of; the others only take their room. */
  readonly concerned: ReadonlySet<string>
  /** Whether the defaults of the cluster are among what changes. */
  readonly defaultsChange: boolean
  readonly horizon: Period | undefined
}

/** What a change of rules would do. */
export interface PreviewResult {
  readonly outcome: Outcome
  readonly concerned: ReadonlySet<string>
  readonly datasources: readonly DatasourceSummary[]
  readonly tiers: readonly TierSummary[]
  readonly steps: readonly PreviewStep[] | undefined
  readonly warnings: readonly PreviewWarning[]
}

// Rows of summaries that an answer with a horizon may have: some tens of megabytes.
const mostStepRows = 50_000
// Rows of the summary itself, one for each datasource and tier.
const maxSummaryRows = 200_000
// Rows, and tiers in them, that are made between two pauses.
const rowSlice = 5000
// Tiers in all rows of an answer: some tens of megabytes.
const maxTiersInRows = 2_500_000

/** Counts what rows hold, and refuses rows that are too large for one answer; returns whether to pause. */
class RowMeter {
  private tiers = 0
  private untilPause = rowSlice

  add({ loaded }: PreviewRow): boolean {
    const tiers = Object.keys(loaded).length
    this.tiers += tiers
    if (this.tiers > maxTiersInRows) {
      throw invalidInput(
        `The segments have replicas in more than [${maxTiersInRows}] tiers together, which is too much for one answer; expected fewer segments or tiers`,
      )
    }
    this.untilPause -= 10 + tiers
    if (this.untilPause > 0) return false
    this.untilPause = rowSlice
    return true
  }
}

/** Decides what a change of rules would do; pauses now and then, so that whoever runs it can do other things. */
export function* decidePreview(question: PreviewQuestion): Generator<undefined, PreviewResult> {
  const { now, concerned, horizon } = question
  const moments = horizon === undefined ? undefined : stepTimes(now, horizon)
  const tierCount = new Set(question.servers.map(({ tier }) => tier)).size
  const rows = (moments?.length ?? 0) * concerned.size * Math.max(1, tierCount)
  if (rows > mostStepRows) {
    throw invalidInput(
      `horizon leads to [${moments?.length}] steps of [${concerned.size}] datasources in [${tierCount}] tiers, which is too much for one answer; expected a shorter horizon, or the rules of fewer datasources`,
      { field: 'horizon' },
    )
  }
  const { datasources } = question
  if (datasources.length * tierCount > maxSummaryRows) {
    throw invalidInput(
      `[${datasources.length}] datasources and [${tierCount}] tiers are too much for one preview; expected [${maxSummaryRows}] pairs of both`,
    )
  }
  const outcome = yield* decideOutcome(question)
  const summaries: DatasourceSummary[] = []
  const unplaced = outcome.cluster.tiers.map(noCopies)
  for (const datasource of outcome.datasources) {
    const found = yield* summarize(datasource, outcome)
    summaries.push(found.summary)
    found.unplaced.forEach((tally, tier) => {
      addTally(unplaced[tier]!, tally)
    })
  }
  const tiers = tiersOf(outcome, summaries, unplaced)
  return {
    outcome,
    concerned,
    datasources: summaries.filter(({ dataSource }) => concerned.has(dataSource)),
    tiers,
    steps: moments === undefined ? undefined : yield* decideSteps(outcome, concerned, moments),
    warnings: yield* warningsOf(outcome, concerned, question.defaultsChange, tiers),
  }
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

/** A part of the rows of the datasources concerned, and how many there are in all; pauses now and then. */
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

/** The rows of given segments in the order in which they were given; pauses now and then. */
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

/** The summary as JSON; `withTiers` tells of the tiers as a whole too. */
export function formatSummary(
  { outcome, datasources, tiers, steps }: PreviewResult,
  withTiers: boolean,
): Record<string, unknown> {
  const names = outcome.cluster.tiers.map(({ name }) => name)
  const format = (ofDatasources: readonly DatasourceSummary[], ofTiers: readonly TierSummary[]) => ({
    datasources: Object.fromEntries(
      ofDatasources.map(({ dataSource, tiers: changes, markedUnused, oldestKept, newestKept }) => [
        dataSource,
        {
          tiers: Object.fromEntries(changes.map((change, index) => [names[index], change])),
          markedUnused,
          oldestInterval: formatOptional(oldestKept),
          newestInterval: formatOptional(newestKept),
        },
      ]),
    ),
    ...(withTiers ? { tiers: formatTiers(ofTiers) } : {}),
  })
  return {
    ...format(datasources, tiers),
    ...(steps === undefined
      ? {}
      : {
          steps: steps.map((step) => ({
            now: formatInstant(step.now),
            ...format(step.datasources, step.tiers),
          })),
        }),
  }
}

function formatTiers(tiers: readonly TierSummary[]): Record<string, unknown> {
  return Object.fromEntries(
    tiers.map(({ tier, capacityBytes, ...rest }) => [
      tier,
      { ...rest, capacityBytes: Number.isFinite(capacityBytes) ? capacityBytes : null },
    ]),
  )
}
