import { type CompactionRate, timeLeftOf, timeOfTask } from './compaction-rate.ts'
import type { CompactionCandidate, CompactionPlan } from './plan-compaction.ts'
import {
  type CompactionSubmission,
  findPostponements,
  type PastCompaction,
  type PostponedCompaction,
  type ScheduleInput,
  scheduleCompactions,
} from './schedule.ts'

/** Returns how many bytes the task of a candidate reads. */
export const bytesToRead = ({ mode, figures, uncompacted }: CompactionCandidate): number =>
  mode === 'UNCOMPACTED_SEGMENTS_ONLY' ? uncompacted.bytes : figures.bytes

const segmentsToRead = ({ mode, segments, uncompactedSegments }: CompactionCandidate) =>
  mode === 'UNCOMPACTED_SEGMENTS_ONLY' ? uncompactedSegments : segments

/** The input of a forecast. Times are epoch milliseconds. */
export interface ForecastInput extends Pick<ScheduleInput, 'past' | 'fingerprintsOf' | 'now'> {
  readonly plan: CompactionPlan
  readonly rate: CompactionRate
  /** Time between two runs. */
  readonly periodMs: number
  readonly untilNextRunMs: number
}

/** A task that a future run submits. */
export interface ForecastTask extends CompactionSubmission {
  readonly bytes: number
  readonly endsAt: number
}

/** A future run that submits tasks. */
export interface ForecastRun {
  readonly at: number
  readonly tasks: readonly ForecastTask[]
}

/** What compaction does from now on, if no segments are added and no task fails. */
export interface CompactionForecast {
  readonly runs: readonly ForecastRun[]
  /** Candidates whose jobs need more slots than compaction has. They are never compacted. */
  readonly tooFewSlots: readonly CompactionCandidate[]
  /** Candidates that failed and are retried later. */
  readonly postponed: ReadonlyMap<CompactionCandidate, PostponedCompaction>
}

/** Totals of future runs. */
export interface ForecastTotals {
  readonly tasks: number
  readonly segments: number
  readonly bytes: number
  /** Slots times the milliseconds for which they are used. */
  readonly slotMs: number
  /** When the last task ends. Undefined if there is nothing to do. */
  readonly endsAt: number | undefined
}

/** Returns the totals of future runs. */
export function totalsOfRuns(runs: readonly ForecastRun[]): ForecastTotals {
  const totals = { tasks: 0, segments: 0, bytes: 0, slotMs: 0 }
  let lastEndsAt: number | undefined
  for (const { at, tasks } of runs) {
    for (const { candidate, slots, bytes, endsAt } of tasks) {
      totals.tasks += 1
      totals.segments += segmentsToRead(candidate).length
      totals.bytes += bytes
      totals.slotMs += slots * (endsAt - at)
      lastEndsAt = Math.max(lastEndsAt ?? endsAt, endsAt)
    }
  }
  return { ...totals, endsAt: lastEndsAt }
}

/** A running task. */
interface Running {
  readonly task: PastCompaction
  readonly endsAt: number
}

/**
 * Runs the scheduler in simulated time, from one run to the next, until each candidate of the plan is compacted.
 * Running tasks end when the rate predicts it. Runs that submit nothing are omitted. Pauses regularly.
 */
export function* forecastCompaction(input: ForecastInput): Generator<undefined, CompactionForecast> {
  const { plan, rate, periodMs, now, fingerprintsOf } = input
  const firstAt = now + input.untilNextRunMs
  const queue = new CandidateQueue(input)
  const postponed = new Map(queue.postponed)
  let running = input.past
    .filter(({ ended }) => ended === undefined)
    .map((task): Running => ({ task, endsAt: now + timeLeftOf(rate, task) }))
  const runs: ForecastRun[] = []
  for (let run = 0; queue.size > 0; ) {
    yield
    const at = firstAt + run * periodMs
    running = running.filter(({ endsAt }) => endsAt > at)
    const { submissions } = scheduleCompactions({
      candidates: queue.dueAt(at),
      slots: plan.slots,
      past: running.map(({ task }) => task),
      fingerprintsOf,
      now: at,
    })
    const tasks = submissions.map(({ candidate, slots }): ForecastTask => {
      const bytes = bytesToRead(candidate)
      return { candidate, slots, bytes, endsAt: at + timeOfTask(rate, bytes) }
    })
    for (const { candidate, slots, endsAt } of tasks) {
      queue.take(candidate)
      running.push({ task: runningTask(candidate, slots), endsAt })
    }
    if (tasks.length > 0) runs.push({ at, tasks })
    const next = running.reduce((min, { endsAt }) => Math.min(min, endsAt), queue.nextDueAfter(at))
    if (!Number.isFinite(next)) break
    // Until then, every run makes the same decisions.
    run = Math.max(Math.ceil((next - firstAt) / periodMs), run + 1)
  }
  return { runs, tooFewSlots: queue.tooFewSlots, postponed }
}

const runningTask = (
  { dataSource, compactionInterval }: CompactionCandidate,
  slots: number,
): PastCompaction => ({
  // Nothing shows tasks that are only simulated.
  taskId: '',
  dataSource,
  interval: compactionInterval,
  ended: undefined,
  slots,
  configFingerprint: '',
  segmentsFingerprint: '',
})

/** The candidates that are not yet compacted, in order. */
class CandidateQueue {
  readonly tooFewSlots: readonly CompactionCandidate[]
  size: number
  /** Candidates that failed, until they are retried. */
  readonly postponed = new Map<CompactionCandidate, PostponedCompaction>()
  private readonly candidates: readonly CompactionCandidate[]
  private readonly taken = new Set<CompactionCandidate>()
  private first = 0

  constructor({ plan, past, fingerprintsOf, now }: ForecastInput) {
    const eligible = plan.candidates.filter((candidate) => candidate.eligible)
    this.candidates = eligible.filter(({ demand }) => demand.floor <= plan.slots)
    this.tooFewSlots = eligible.filter(({ demand }) => demand.floor > plan.slots)
    this.size = this.candidates.length
    const postponementOf = findPostponements({ past, fingerprintsOf })
    for (const candidate of this.candidates) {
      const postponed = postponementOf(candidate)
      if (postponed !== undefined && postponed.until > now) this.postponed.set(candidate, postponed)
    }
  }

  *dueAt(at: number): Generator<CompactionCandidate> {
    while (this.taken.has(this.candidates[this.first]!)) this.first += 1
    for (let index = this.first; index < this.candidates.length; index += 1) {
      const candidate = this.candidates[index]!
      if (!this.taken.has(candidate) && (this.postponed.get(candidate)?.until ?? at) <= at) yield candidate
    }
  }

  take(candidate: CompactionCandidate): void {
    this.taken.add(candidate)
    this.postponed.delete(candidate)
    this.size -= 1
  }

  nextDueAfter(at: number): number {
    let next = Number.POSITIVE_INFINITY
    for (const { until } of this.postponed.values()) if (until > at) next = Math.min(next, until)
    return next
  }
}
