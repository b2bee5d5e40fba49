import { contains, formatInterval, type Interval } from '../time/index.ts'
import type { CompactionPolicy, MostFragmentedFirst } from './config/index.ts'

/** Which segments of an interval a task rewrites. */
export type CompactionMode = 'ALL_SEGMENTS' | 'UNCOMPACTED_SEGMENTS_ONLY'

/** Totals that policies use. `rows` is undefined if any segment has an unknown number of rows. */
export interface Content {
  readonly count: number
  readonly bytes: number
  readonly rows: number | undefined
}

/** The input of a policy. */
export interface PolicySubject {
  readonly dataSource: string
  /** Umbrella interval of the segments. */
  readonly interval: Interval
  readonly uncompacted: Content
  readonly compacted: Content
}

/** Whether a policy selects an interval for compaction, and how to compact it. */
export type Eligibility =
  | { readonly eligible: true; readonly mode: CompactionMode; readonly reason: string | undefined }
  | {
      readonly eligible: false
      readonly mode: null
      readonly code: IneligibleCode
      readonly reason: string
    }

/** Why a policy postpones an interval. */
export type IneligibleCode =
  | 'TOO_FEW_UNCOMPACTED_SEGMENTS'
  | 'TOO_FEW_UNCOMPACTED_BYTES'
  | 'UNCOMPACTED_SEGMENTS_TOO_LARGE'
  | 'NOT_LISTED'

const allSegments: Eligibility = { eligible: true, mode: 'ALL_SEGMENTS', reason: undefined }
const refused = (code: IneligibleCode, reason: string): Eligibility => ({
  eligible: false,
  mode: null,
  code,
  reason,
})

/** Returns whether the policy selects an interval that needs compaction. */
export function eligibilityOf(policy: CompactionPolicy, subject: PolicySubject): Eligibility {
  if (policy.type === 'newestSegmentFirst') return allSegments
  if (policy.type === 'mostFragmentedFirst') return byFragmentation(policy, subject)
  if (placeInList(policy.eligibleCandidates, subject) !== undefined) return allSegments
  const { dataSource, interval } = subject
  return refused(
    'NOT_LISTED',
    `eligibleCandidates lists no interval of datasource [${dataSource}] that contains [${formatInterval(interval)}]`,
  )
}

function byFragmentation(
  policy: MostFragmentedFirst,
  { uncompacted, compacted }: PolicySubject,
): Eligibility {
  const { minUncompactedCount, minUncompactedBytes, maxAverageUncompactedBytesPerSegment } = policy
  if (uncompacted.count < minUncompactedCount) {
    return refused(
      'TOO_FEW_UNCOMPACTED_SEGMENTS',
      `[${uncompacted.count}] uncompacted segments, fewer than minUncompactedCount [${minUncompactedCount}]`,
    )
  }
  if (uncompacted.bytes < minUncompactedBytes) {
    return refused(
      'TOO_FEW_UNCOMPACTED_BYTES',
      `[${uncompacted.bytes}] uncompacted bytes, fewer than minUncompactedBytes [${minUncompactedBytes}]`,
    )
  }
  const average = averageBytes(uncompacted)
  if (average > maxAverageUncompactedBytesPerSegment) {
    return refused(
      'UNCOMPACTED_SEGMENTS_TOO_LARGE',
      `uncompacted segments average [${average}] bytes, more than maxAverageUncompactedBytesPerSegment [${maxAverageUncompactedBytesPerSegment}]`,
    )
  }
  const bytesPercent = percentOf(uncompacted.bytes, compacted.bytes)
  const minBytesPercent = policy.minUncompactedBytesPercentForFullCompaction
  if (bytesPercent < minBytesPercent) return onlyUncompacted('bytes', bytesPercent, minBytesPercent)
  if (uncompacted.rows === undefined || compacted.rows === undefined) return allSegments
  const rowsPercent = percentOf(uncompacted.rows, compacted.rows)
  const minRowsPercent = policy.minUncompactedRowsPercentForFullCompaction
  return rowsPercent < minRowsPercent ? onlyUncompacted('rows', rowsPercent, minRowsPercent) : allSegments
}

const percentOf = (part: number, rest: number): number =>
  part + rest === 0 ? 100 : (part / (part + rest)) * 100

const onlyUncompacted = (of: 'bytes' | 'rows', percent: number, min: number): Eligibility => ({
  eligible: true,
  mode: 'UNCOMPACTED_SEGMENTS_ONLY',
  reason: `[${percent.toFixed(1)}] percent of ${of} are uncompacted, less than minUncompacted${of === 'bytes' ? 'Bytes' : 'Rows'}PercentForFullCompaction [${min}]`,
})

/** Returns the average segment size in bytes, rounded down. */
const averageBytes = ({ count, bytes }: Content): number => (count === 0 ? 0 : Math.floor(bytes / count))

/** Returns the index of the first entry that contains the interval, or undefined. */
export function placeInList(
  list: readonly { readonly datasource: string; readonly interval: Interval }[],
  { dataSource, interval }: Pick<PolicySubject, 'dataSource' | 'interval'>,
): number | undefined {
  const place = list.findIndex(
    (entry) => entry.datasource === dataSource && contains(entry.interval, interval),
  )
  return place < 0 ? undefined : place
}

/**
 * Returns how fragmented an interval is. The index grows with the number of uncompacted segments, and the smaller they
 * are compared with the maximum average. It is 0 if nothing is uncompacted. Uses 32-bit floats, like Druid 37.
 */
export function fragmentationIndex(policy: MostFragmentedFirst, uncompacted: Content): number {
  if (uncompacted.count === 0) return 0
  const weight = Math.fround(
    Math.fround(policy.minUncompactedCount) * Math.fround(policy.maxAverageUncompactedBytesPerSegment),
  )
  return uncompacted.count + Math.fround(weight / Math.fround(Math.max(1, averageBytes(uncompacted))))
}
