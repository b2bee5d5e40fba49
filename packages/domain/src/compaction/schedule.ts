import { formatInterval, type Interval, overlaps } from '../time/index.ts'
import type { CompactionCandidate } from './plan-compaction.ts'
import { grantSlots } from './slots.ts'

/** A compaction task that was submitted before; times in epoch milliseconds. */
export interface PastCompaction {
  readonly dataSource: string
  readonly interval: Interval
  /** Undefined while it has not ended. */
  readonly ended: { readonly succeeded: boolean; readonly at: number } | undefined
  readonly slots: number
  /** Stands for the configuration that it followed, and for the segments that it read. */
  readonly configFingerprint: string
  readonly segmentsFingerprint: string
}

/** What is submitted next, and with how many slots. */
export interface CompactionSubmission {
  readonly candidate: CompactionCandidate
  readonly slots: number
}

/** A candidate that is tried again later. */
export interface PostponedCompaction {
  readonly candidate: CompactionCandidate
  readonly failures: number
  readonly until: number
}

/** What one run of the scheduler sets going. */
export interface CompactionSchedule {
  readonly submissions: readonly CompactionSubmission[]
  readonly postponed: readonly PostponedCompaction[]
  readonly slotsTaken: number
}

/** What scheduling is decided from. */
export interface ScheduleInput {
  /** In the order in which they are taken. */
  readonly candidates: readonly CompactionCandidate[]
  /** The task slots that compaction may take at a time. */
  readonly slots: number
  readonly past: readonly PastCompaction[]
  fingerprintsOf(candidate: CompactionCandidate): { readonly config: string; readonly segments: string }
  /** The cluster's time in epoch milliseconds. */
  readonly now: number
}

const firstDelayMs = 60_000
const longestDelayMs = 3_600_000

/** How long an interval rests after so many failures in a row: twice as long each time, an hour at the most. */
export const delayAfterFailures = (failures: number): number =>
  Math.min(firstDelayMs * 2 ** (failures - 1), longestDelayMs)

const keyOf = ({ dataSource }: { readonly dataSource: string }, interval: Interval): string =>
  `${dataSource} ${formatInterval(interval)}`

/**
 * The tasks to submit now. No two tasks at a time have time in common. What failed is tried again later, and what is
 * behind it goes on meanwhile; a task that succeeded and changed nothing counts as failed, or it would run forever.
 */
export function scheduleCompactions(input: ScheduleInput): CompactionSchedule {
  const { candidates, past, now } = input
  const running = past.filter(({ ended }) => ended === undefined)
  const slotsTaken = running.reduce((sum, { slots }) => sum + slots, 0)
  const pastOf = Map.groupBy(past, (one) => keyOf(one, one.interval))
  const postponed: PostponedCompaction[] = []
  const busy = new Map<string, Interval[]>()
  for (const { dataSource, interval } of running)
    busy.set(dataSource, [...(busy.get(dataSource) ?? []), interval])

  function* claims() {
    for (const candidate of candidates) {
      if (!candidate.eligible) continue
      const { dataSource, compactionInterval, demand } = candidate
      const earlier = pastOf.get(keyOf(candidate, compactionInterval)) ?? []
      if (earlier.length > 0) {
        const { failures, lastAt } = failuresInARow(earlier, input.fingerprintsOf(candidate))
        const until = lastAt + delayAfterFailures(failures)
        if (failures > 0 && now < until) {
          postponed.push({ candidate, failures, until })
          continue
        }
      }
      const others = busy.get(dataSource) ?? []
      if (others.some((interval) => overlaps(interval, compactionInterval))) continue
      // The claims are read one by one: what is asked for here has its slots, or nothing after it is asked for.
      busy.set(dataSource, [...others, compactionInterval])
      yield { job: candidate, demand }
    }
  }

  const grants = grantSlots(claims(), input.slots, slotsTaken)
  return { submissions: grants.map(({ job, slots }) => ({ candidate: job, slots })), postponed, slotsTaken }
}

function failuresInARow(
  earlier: readonly PastCompaction[],
  fingerprints: { readonly config: string; readonly segments: string },
): { failures: number; lastAt: number } {
  const newestFirst = earlier
    .flatMap(({ ended, ...task }) => (ended === undefined ? [] : [{ ...task, ...ended }]))
    .sort((a, b) => b.at - a.at)
  // Another configuration deserves another try at once; other segments do not: the fault may lie in those that stay.
  const end = newestFirst.findIndex(
    (task) =>
      task.configFingerprint !== fingerprints.config ||
      (task.succeeded && task.segmentsFingerprint !== fingerprints.segments),
  )
  const failures = end < 0 ? newestFirst.length : end
  return { failures, lastAt: newestFirst[0]?.at ?? Number.NEGATIVE_INFINITY }
}
