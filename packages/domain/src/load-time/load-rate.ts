/** Sums over measurements of one server. Recent ones count more. */
export interface LoadSums {
  /** Milliseconds of loading. */
  readonly ms: number
  readonly segments: number
  readonly bytes: number
  readonly segmentsSquared: number
  readonly bytesSquared: number
  readonly segmentsTimesBytes: number
  readonly segmentsTimesMs: number
  readonly bytesTimesMs: number
}

/** Loads that a server completed while it had loads in its queue. */
export interface MeasuredLoads {
  readonly ms: number
  readonly segments: number
  readonly bytes: number
}

/** How long a server takes for one load: a part for each segment, and a part for each byte. */
export interface LoadRate {
  readonly msPerSegment: number
  readonly msPerByte: number
}

export const noLoads: LoadSums = {
  ms: 0,
  segments: 0,
  bytes: 0,
  segmentsSquared: 0,
  bytesSquared: 0,
  segmentsTimesBytes: 0,
  segmentsTimesMs: 0,
  bytesTimesMs: 0,
}

// A measurement counts half as much after this much more loading time.
const halfLifeMs = 30 * 60 * 1000

/** Adds a measurement to the sums of a server. */
export function addMeasured(sums: LoadSums, { ms, segments, bytes }: MeasuredLoads): LoadSums {
  const kept = 0.5 ** (ms / halfLifeMs)
  return {
    ms: sums.ms * kept + ms,
    segments: sums.segments * kept + segments,
    bytes: sums.bytes * kept + bytes,
    segmentsSquared: sums.segmentsSquared * kept + segments * segments,
    bytesSquared: sums.bytesSquared * kept + bytes * bytes,
    segmentsTimesBytes: sums.segmentsTimesBytes * kept + segments * bytes,
    segmentsTimesMs: sums.segmentsTimesMs * kept + segments * ms,
    bytesTimesMs: sums.bytesTimesMs * kept + bytes * ms,
  }
}

// Below this fraction of its possible value, the determinant is noise: all segments had about the same size.
const minDeterminant = 0.01
// The load time of smaller segments depends on their number, not on their bytes.
const smallSegmentBytes = 100_000

/**
 * Returns the rate that fits the measurements best, or undefined without measurements. If all segments had about the same
 * size, the time is attributed to the bytes of large segments or to the number of small ones.
 */
export function rateOf(sums: LoadSums): LoadRate | undefined {
  const { ms, segments, bytes } = sums
  if (segments === 0 || ms === 0) return undefined
  const byNumber = { msPerSegment: ms / segments, msPerByte: 0 }
  const byBytes = { msPerSegment: 0, msPerByte: ms / bytes }
  const { segmentsSquared, bytesSquared, segmentsTimesBytes, segmentsTimesMs, bytesTimesMs } = sums
  const possible = segmentsSquared * bytesSquared
  const determinant = possible - segmentsTimesBytes ** 2
  if (determinant < possible * minDeterminant || possible === 0)
    return bytes / segments < smallSegmentBytes ? byNumber : byBytes
  const msPerSegment = (segmentsTimesMs * bytesSquared - bytesTimesMs * segmentsTimesBytes) / determinant
  const msPerByte = (bytesTimesMs * segmentsSquared - segmentsTimesMs * segmentsTimesBytes) / determinant
  if (msPerSegment < 0) return byBytes
  if (msPerByte < 0) return byNumber
  return { msPerSegment, msPerByte }
}

/** Returns how long loads of this many bytes take, one after the other, in milliseconds. */
export const timeOf = ({ msPerSegment, msPerByte }: LoadRate, segments: number, bytes: number): number =>
  segments * msPerSegment + bytes * msPerByte

/** Returns the mean of several rates, or undefined if there are none. */
export function meanRate(rates: readonly LoadRate[]): LoadRate | undefined {
  if (rates.length === 0) return undefined
  const mean = (name: keyof LoadRate): number =>
    rates.reduce((sum, rate) => sum + rate[name], 0) / rates.length
  return { msPerSegment: mean('msPerSegment'), msPerByte: mean('msPerByte') }
}
