import { ascending } from '../order/index.ts'
import { formatInterval, type Interval } from '../time/index.ts'
import { widen } from './buckets.ts'
import { canonicalTextInSteps } from './compaction-state.ts'
import { type CompactionConfig, formatCompactionConfig } from './config/index.ts'
import type { CompactionCode } from './explain-compaction.ts'
import type { CompactionPlan, DatasourceFindings } from './plan-compaction.ts'

/** A plan, and what was found in each datasource. */
export interface ComparedPlan {
  readonly plan: CompactionPlan
  readonly findings: ReadonlyMap<string, DatasourceFindings>
}

/** What a plan does with an interval. */
export type PlannedCode =
  | Exclude<CompactionCode, 'NEXT' | 'WAITING' | 'RETRIED_LATER'>
  /** It is compacted. */
  | 'COMPACTED'
  /** Its datasource has no configuration, or its supervisor is suspended. */
  | 'NOT_CONFIGURED'
  /** The plan divides the data into other intervals. */
  | 'OTHER_INTERVALS'

/** An interval that two plans treat differently. */
export interface PlanDifference {
  readonly dataSource: string
  /** Widened to entire buckets of the configured granularity, unless it is skipped. */
  readonly interval: Interval
  readonly before: PlannedCode
  readonly after: PlannedCode
}

/** A datasource that two plans configure differently. */
export interface ConfigDifference {
  readonly dataSource: string
  /** Names of the fields that differ. Empty if only one of the plans configures the datasource. */
  readonly fields: readonly string[]
  readonly isConfiguredBefore: boolean
  readonly isConfiguredAfter: boolean
}

// Number of intervals between two pauses.
const sliceLength = 1000

/** Returns the intervals that two plans for the same segments treat differently, oldest first. Pauses regularly. */
export function* comparePlans(
  before: ComparedPlan,
  after: ComparedPlan,
): Generator<undefined, PlanDifference[]> {
  const codesBefore = yield* codesOf(before)
  const codesAfter = yield* codesOf(after)
  const missing = ({ findings }: ComparedPlan, dataSource: string): PlannedCode =>
    findings.has(dataSource) ? 'OTHER_INTERVALS' : 'NOT_CONFIGURED'
  const differences: PlanDifference[] = []
  for (const [key, one] of codesBefore) {
    const other = codesAfter.get(key)
    const codeAfter = other?.code ?? missing(after, one.dataSource)
    if (codeAfter !== one.code) differences.push(differenceIn(other ?? one, one.code, codeAfter))
  }
  for (const [key, one] of codesAfter)
    if (!codesBefore.has(key)) differences.push(differenceIn(one, missing(before, one.dataSource), one.code))
  return differences.sort(
    (a, b) =>
      ascending(a.dataSource, b.dataSource) ||
      a.interval.start - b.interval.start ||
      a.interval.end - b.interval.end,
  )
}

const differenceIn = (
  { dataSource, shownInterval }: PlannedInterval,
  before: PlannedCode,
  after: PlannedCode,
): PlanDifference => ({ dataSource, interval: shownInterval, before, after })

interface PlannedInterval {
  readonly dataSource: string
  /** The interval of its segments. */
  readonly interval: Interval
  readonly shownInterval: Interval
  readonly code: PlannedCode
}

function* codesOf({ plan, findings }: ComparedPlan): Generator<undefined, Map<string, PlannedInterval>> {
  const codes = new Map<string, PlannedInterval>()
  let count = 0
  for (const one of plannedIntervals(plan, findings)) {
    codes.set(`${formatInterval(one.interval)} ${one.dataSource}`, one)
    if (++count % sliceLength === 0) yield
  }
  return codes
}

function* plannedIntervals(
  { candidates, skipped, slots }: CompactionPlan,
  findings: ComparedPlan['findings'],
): Generator<PlannedInterval> {
  for (const [dataSource, { compactedIntervals, config }] of findings) {
    const granularity = config.granularitySpec?.segmentGranularity ?? null
    for (const { interval } of compactedIntervals) {
      const shownInterval = granularity === null ? interval : widen(interval, granularity)
      yield { dataSource, interval, shownInterval, code: 'UP_TO_DATE' }
    }
  }
  for (const { dataSource, interval, code } of skipped)
    yield { dataSource, interval, shownInterval: interval, code }
  for (const { dataSource, interval, compactionInterval, code, demand } of candidates)
    yield {
      dataSource,
      interval,
      shownInterval: compactionInterval,
      code: code ?? (demand.floor > slots ? 'TOO_FEW_SLOTS' : 'COMPACTED'),
    }
}

/** Returns the datasources that two plans configure differently, by name. Pauses regularly. */
export function* compareConfigs(
  before: Pick<ComparedPlan, 'findings'>,
  after: Pick<ComparedPlan, 'findings'>,
): Generator<undefined, ConfigDifference[]> {
  const names = [...new Set([...before.findings.keys(), ...after.findings.keys()])].sort()
  const differences: ConfigDifference[] = []
  for (const dataSource of names) {
    const [one, other] = [before, after].map(({ findings }) => findings.get(dataSource)?.config)
    const [isConfiguredBefore, isConfiguredAfter] = [one !== undefined, other !== undefined]
    const fields = one && other ? yield* differingFields(one, other) : []
    if (fields.length > 0 || isConfiguredBefore !== isConfiguredAfter)
      differences.push({ dataSource, fields, isConfiguredBefore, isConfiguredAfter })
  }
  return differences
}

function* differingFields(before: CompactionConfig, after: CompactionConfig): Generator<undefined, string[]> {
  const [one, other] = [formatCompactionConfig(before), formatCompactionConfig(after)]
  const fields: string[] = []
  for (const name of new Set([...Object.keys(one), ...Object.keys(other)]))
    if ((yield* canonicalTextInSteps(one[name])) !== (yield* canonicalTextInSteps(other[name])))
      fields.push(name)
  return fields
}
