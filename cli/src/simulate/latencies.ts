/** Latencies of requests, in milliseconds. */
export interface Latencies {
  readonly median: number
  readonly p99: number
  readonly longest: number
}

/** Summarizes at least one latency. */
export function latenciesOf(tookMs: readonly number[]): Latencies {
  const sorted = tookMs.toSorted((a, b) => a - b)
  const at = (part: number): number => sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))]!
  return { median: at(0.5), p99: at(0.99), longest: at(1) }
}
