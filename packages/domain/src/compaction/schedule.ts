import { formatInterval, type Interval, overlaps } from '../time/index.ts'
import type { CompactionCandidate } from './plan-compaction.ts'
import { grantSlots } from './slots.ts'

/** A compaction task that was submitted earlier. Times are epoch milliseconds. */
export interface PastCompaction {
  readonly taskId: string
  readonly dataSource: string
  readonly interval: Interval
  /** Undefined while the task is running. */
  readonly ended: { readonly succeeded: boolean; readonly at: number } | undefined
  readonly slots: number
  /** Identify the configuration that the task used, and the segments that it read. */
  readonly configFingerprint: string
  readonly segmentsFingerprint: string
  /** Undefined for tasks that users submitted. */
  readonly work?: CompactionWork | undefined
}

/** The work of a task. */
export interface CompactionWork {
  /** Bytes that it reads. */
  readonly bytes: number
  /** Milliseconds from its submission to its last start, or so far. */
  readonly waitMs: number
  /** Milliseconds that it ran, or has been running. Undefined if it never started. */
  readonly durationMs: number | undefined
}

/** A task to submit, and its number of slots. */
export interface CompactionSubmission {
  readonly candidate: CompactionCandidate
  readonly slots: number
}

/** A candidate to retry later. */
export interface PostponedCompaction {
  readonly candidate: CompactionCandidate
  readonly failures: number
  /** The last of the tasks that failed or changed nothing. */
  readonly last: Pick<PastCompaction, 'taskId'> & { readonly succeeded: boolean }
  readonly until: number
}

/** The decisions of one scheduler run. */
export interface CompactionSchedule {
  readonly submissions: readonly CompactionSubmission[]
  readonly postponed: readonly PostponedCompaction[]
  readonly slotsTaken: number
}

/** The input of the scheduler. */
export interface ScheduleInput {
  /** In the order of the policy. Only as many are read as there are slots. */
  readonly candidates: Iterable<CompactionCandidate>
  /** Maximum number of concurrent compaction task slots. */
  readonly slots: number
  readonly past: readonly PastCompaction[]
  fingerprintsOf(candidate: CompactionCandidate): { readonly config: string; readonly segments: string }
  /** The cluster's time in epoch milliseconds. */
  readonly now: number
}

const firstDelayMs = 60_000
const maxDelayMs = 3_600_000

/** Returns the retry delay in milliseconds after consecutive failures. It doubles each time, up to one hour. */
export const delayAfterFailures = (failures: number): number =>
  Math.min(firstDelayMs * 2 ** (failures - 1), maxDelayMs)

const keyOf = ({ dataSource }: { readonly dataSource: string }, interval: Interval): string =>
  `${dataSource} ${formatInterval(interval)}`

/**
 * Returns the tasks to submit now. Intervals of concurrent tasks never overlap. Failed intervals are retried later, and
 * other intervals continue in the meantime. A task that succeeded but changed nothing counts as failed, because it
 * would otherwise run forever.
 */
export function scheduleCompactions(input: ScheduleInput): CompactionSchedule {
  const { candidates, past, now } = input
  const running = past.filter(({ ended }) => ended === undefined)
  const slotsTaken = running.reduce((sum, { slots }) => sum + slots, 0)
  const postponementOf = findPostponements(input)
  const postponed: PostponedCompaction[] = []
  const busy = new Map<string, Interval[]>()
  for (const { dataSource, interval } of running)
    busy.set(dataSource, [...(busy.get(dataSource) ?? []), interval])

  function* claims() {
    for (const candidate of candidates) {
      if (!candidate.eligible) continue
      const { dataSource, compactionInterval, demand } = candidate
      const later = postponementOf(candidate)
      if (later !== undefined && now < later.until) {
        postponed.push(later)
        continue
      }
      const others = busy.get(dataSource) ?? []
      if (others.some((interval) => overlaps(interval, compactionInterval))) continue
      // Claims are consumed one by one: either this one gets its slots, or no later claim is consumed.
      busy.set(dataSource, [...others, compactionInterval])
      yield { job: candidate, demand }
    }
  }

  const grants = grantSlots(claims(), input.slots, slotsTaken)
  return { submissions: grants.map(({ job, slots }) => ({ candidate: job, slots })), postponed, slotsTaken }
}

/** Returns a function that returns the time until which a candidate must wait after failures; undefined if none failed. */
export function findPostponements({
  past,
  fingerprintsOf,
}: Pick<ScheduleInput, 'past' | 'fingerprintsOf'>): (
  candidate: CompactionCandidate,
) => PostponedCompaction | undefined {
  const pastOf = Map.groupBy(past, (one) => keyOf(one, one.interval))
  return (candidate) => {
    const earlier = pastOf.get(keyOf(candidate, candidate.compactionInterval))
    if (earlier === undefined) return undefined
    const { failures, last } = consecutiveFailures(earlier, fingerprintsOf(candidate))
    if (failures === 0 || last === undefined) return undefined
    return { candidate, failures, last, until: last.at + delayAfterFailures(failures) }
  }
}

function consecutiveFailures(
  earlier: readonly PastCompaction[],
  fingerprints: { readonly config: string; readonly segments: string },
) {
  const newestFirst = earlier
    .flatMap(({ ended, ...task }) => (ended === undefined ? [] : [{ ...task, ...ended }]))
    .sort((a, b) => b.at - a.at)
  // Retries a changed configuration immediately, but not changed segments: an unchanged one may be the cause.
  const end = newestFirst.findIndex(
    (task) =>
      task.configFingerprint !== fingerprints.config ||
      (task.succeeded && task.segmentsFingerprint !== fingerprints.segments),
  )
  const failures = end < 0 ? newestFirst.length : end
  return { failures, last: newestFirst[0] }
}
