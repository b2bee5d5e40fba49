import { countOf, formatBytes } from '../text/index.ts'
import { formatInstant, type Interval, overlaps } from '../time/index.ts'
import type { CompactionFigures } from './compaction-segment.ts'
import type { CompactionForecast } from './forecast-compaction.ts'
import type { CompactionCandidate, CompactionPlan, DatasourceFindings, SkipCode } from './plan-compaction.ts'
import type { IneligibleCode } from './policy.ts'
import type { CompactionSchedule, PostponedCompaction } from './schedule.ts'

/** Why an interval is or is not compacted. The codes are stable. */
export type CompactionCode =
  | SkipCode
  | IneligibleCode
  /** Its segments have the configured state. */
  | 'UP_TO_DATE'
  /** The next run submits a task. */
  | 'NEXT'
  /** It waits for task slots, or for a task on an overlapping interval. */
  | 'WAITING'
  /** Its last tasks failed or changed nothing, so it is retried later. */
  | 'RETRIED_LATER'
  /** Its job needs more task slots than compaction has. */
  | 'TOO_FEW_SLOTS'

/** What compaction does with one interval. */
export interface CompactionFinding {
  readonly interval: Interval
  readonly code: CompactionCode
  readonly reason: string
  readonly segments: number
  readonly bytes: number
  /**
   * Position in the order of the policy among the intervals that the reader may read, from 1, and what comes before it; only if it
   * awaits compaction.
   */
  readonly place?: number
  readonly bytesAhead?: number
  /** When it is expected to be compacted, in epoch milliseconds. */
  readonly doneAt?: number
}

/** The state of compaction that explanations read. */
export interface ExplainedCompaction {
  readonly plan: CompactionPlan
  /** The findings of the datasource. */
  readonly findings: DatasourceFindings
  /** What the next run decides. */
  readonly schedule: CompactionSchedule
  /** What the runs after it decide. */
  readonly forecast: CompactionForecast
}

/** What the reader of an explanation may read. By default, everything. */
export interface CompactionReader {
  /** Whether the reader may read a datasource: the queue shows no others. */
  sees(dataSource: string): boolean
  /** Whether the reader may read all datasources. */
  readonly seesAll: boolean
  /** Whether the reader may read the state of the cluster. */
  readonly seesCluster: boolean
}

const readsEverything: CompactionReader = { sees: () => true, seesAll: true, seesCluster: true }

/** Explains the intervals of a datasource that overlap an interval, oldest first. */
export function explainCompaction(
  state: ExplainedCompaction,
  interval: Interval,
  reader = readsEverything,
): CompactionFinding[] {
  const { skipped, compactedIntervals } = state.findings
  const settled: CompactionFinding[] = [
    ...skipped.map(({ interval: found, code, reason, figures }) => finding(found, figures, code, reason)),
    ...compactedIntervals.map(({ interval: found, figures }) =>
      finding(found, figures, 'UP_TO_DATE', 'its segments have the configured state'),
    ),
  ].filter((one) => overlaps(one.interval, interval))
  return [...settled, ...explainCandidates(state, interval, reader)].sort(
    (a, b) => a.interval.start - b.interval.start || a.interval.end - b.interval.end,
  )
}

const finding = (
  interval: Interval,
  { segments, bytes }: CompactionFigures,
  code: CompactionCode,
  reason: string,
): CompactionFinding => ({ interval, code, reason, segments, bytes })

/** Explains the intervals that need compaction, in the order of the policy. */
function explainCandidates(
  { plan, schedule, findings, forecast }: ExplainedCompaction,
  interval: Interval,
  reader: CompactionReader,
): CompactionFinding[] {
  const submitted = new Map(schedule.submissions.map(({ candidate, slots }) => [candidate, slots]))
  const doneTimes = new Map(
    forecast.runs.flatMap(({ tasks }) => tasks.map(({ candidate, endsAt }) => [candidate, endsAt] as const)),
  )
  const found: CompactionFinding[] = []
  let place = 0
  let bytesAhead = 0
  for (const candidate of plan.candidates) {
    const { figures, eligible, code, reason } = candidate
    if (!reader.sees(candidate.dataSource)) continue
    if (eligible) place += 1
    if (candidate.dataSource === findings.config.dataSource && overlaps(candidate.interval, interval)) {
      if (!eligible) found.push(finding(candidate.interval, figures, code!, reason))
      else {
        const queue = { place, bytesAhead }
        const [why, text] = whyAwaiting(candidate, queue, plan, {
          slots: submitted.get(candidate),
          postponed: forecast.postponed.get(candidate),
          slotsTaken: reader.seesCluster ? schedule.slotsTaken : undefined,
          seesAll: reader.seesAll,
        })
        const doneAt = doneTimes.get(candidate)
        found.push({
          ...finding(candidate.interval, figures, why, `${reason}. ${text}`),
          ...queue,
          ...(doneAt === undefined ? {} : { doneAt: Math.round(doneAt) }),
        })
      }
    }
    if (eligible) bytesAhead += figures.bytes
  }
  return found
}

/** Why an interval that awaits compaction is not being compacted. */
function whyAwaiting(
  { demand }: CompactionCandidate,
  { place, bytesAhead }: { readonly place: number; readonly bytesAhead: number },
  plan: CompactionPlan,
  decided: {
    readonly slots: number | undefined
    readonly postponed: PostponedCompaction | undefined
    readonly slotsTaken: number | undefined
    readonly seesAll: boolean
  },
): [CompactionCode, string] {
  const { slots, postponed, slotsTaken, seesAll } = decided
  if (slots !== undefined)
    return ['NEXT', `The next run submits a task that uses ${countOf(slots, 'task slot')}`]
  if (demand.floor > plan.slots)
    return [
      'TOO_FEW_SLOTS',
      `Compacting this interval needs at least [${demand.floor}] task slots, but compaction can use only [${plan.slots}]`,
    ]
  if (postponed !== undefined)
    return [
      'RETRIED_LATER',
      `${countOf(postponed.failures, 'task')} failed or changed nothing (most recently [${postponed.last.taskId}], which ${postponed.last.succeeded ? 'changed nothing' : 'failed'}); the next task starts at ${formatInstant(postponed.until)} or later`,
    ]
  const ahead = place === 1 ? '' : `, behind ${countOf(place - 1, 'interval')} (${formatBytes(bytesAhead)})`
  const taken = slotsTaken === undefined ? '' : `, and running tasks use ${slotsTaken} of ${plan.slots}`
  const one = seesAll ? 'This interval' : 'Among the intervals that you may read, this one'
  return [
    'WAITING',
    `${one} is number [${place}] in the queue${ahead}. It needs ${countOf(demand.min, 'task slot')}${taken}`,
  ]
}
