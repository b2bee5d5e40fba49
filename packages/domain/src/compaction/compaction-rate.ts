import type { PastCompaction } from './schedule.ts'

/** How long compaction tasks take, in milliseconds. */
export interface CompactionRate {
  /** From the submission of a task until a worker starts it. */
  readonly msUntilStart: number
  /** The part of each task that does not depend on its size: its process, its locks, and publishing. */
  readonly msPerTask: number
  /** The part for each byte that a task reads. */
  readonly msPerByte: number
}

/** A task that succeeded, with how long it ran. */
interface MeasuredTask {
  readonly bytes: number
  readonly waitMs: number
  readonly durationMs: number
}

/** The speed that is assumed before any task was measured: 10 MB/s, and 2 s for each task. */
export const assumedCompactionRate: CompactionRate = {
  msUntilStart: 0,
  msPerTask: 2000,
  msPerByte: 1000 / 10_000_000,
}

// The newest tasks, because the data and the load of the machines change.
const maxMeasuredTasks = 100
// If sizes vary less (standard deviation divided by mean), they do not show which part of the time depends on the size.
const minVariation = 0.1

/** Returns the speed of the newest tasks that succeeded; undefined if there are none. */
export function measuredCompactionRate(past: readonly PastCompaction[]): CompactionRate | undefined {
  const newest = past
    .flatMap(({ ended, work }) => {
      if (!ended?.succeeded || !work?.durationMs) return []
      return [{ at: ended.at, bytes: work.bytes, waitMs: work.waitMs, durationMs: work.durationMs }]
    })
    .sort((a, b) => b.at - a.at)
    .slice(0, maxMeasuredTasks)
  if (newest.length === 0) return undefined
  // Unlike the mean, the median ignores tasks that started late because their first worker died.
  return { msUntilStart: median(newest.map(({ waitMs }) => waitMs)), ...fitDurations(newest) }
}

/** Returns the line through the durations that fits best, with no negative part. */
function fitDurations(tasks: readonly MeasuredTask[]): Pick<CompactionRate, 'msPerTask' | 'msPerByte'> {
  const meanBytes = meanOf(tasks.map(({ bytes }) => bytes))
  const meanMs = meanOf(tasks.map(({ durationMs }) => durationMs))
  const variance = meanOf(tasks.map(({ bytes }) => (bytes - meanBytes) ** 2))
  if (variance > (minVariation * meanBytes) ** 2) {
    const covariance = meanOf(
      tasks.map(({ bytes, durationMs }) => (bytes - meanBytes) * (durationMs - meanMs)),
    )
    const msPerByte = Math.max(0, covariance / variance)
    const msPerTask = meanMs - msPerByte * meanBytes
    if (msPerTask > 0) return { msPerTask, msPerByte }
  }
  const msPerTask = Math.min(assumedCompactionRate.msPerTask, ...tasks.map(({ durationMs }) => durationMs))
  return { msPerTask, msPerByte: meanBytes === 0 ? 0 : (meanMs - msPerTask) / meanBytes }
}

const meanOf = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!

/** Returns how long a task that reads `bytes` uses its slots, in milliseconds: from its submission to its end. */
export const timeOfTask = (rate: CompactionRate, bytes: number): number =>
  rate.msUntilStart + runTimeOf(rate, bytes)

const runTimeOf = ({ msPerTask, msPerByte }: CompactionRate, bytes: number): number =>
  msPerTask + bytes * msPerByte

/** Returns how long a submitted task still takes. One that takes longer than expected may end at any time. */
export function timeLeftOf(rate: CompactionRate, { work }: Pick<PastCompaction, 'work'>): number {
  const { bytes, waitMs, durationMs } = work ?? { bytes: 0, waitMs: 0, durationMs: 0 }
  const runMs = runTimeOf(rate, bytes)
  return durationMs === undefined
    ? Math.max(0, rate.msUntilStart - waitMs) + runMs
    : Math.max(0, runMs - durationMs)
}
