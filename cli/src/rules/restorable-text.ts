import { countOf, formatBytes } from '../terminal/index.ts'

interface Extent {
  readonly segments: number
  readonly bytes: number
}

/** Unused segments that drop rules marked and that the rules keep, as returned by the coordinator. */
export interface RestorableSegments extends Extent {
  /** Whether the preview counts them as used. */
  readonly included: boolean
  /** Segments that kill tasks have deleted. */
  readonly killed: Extent
}

/** What is marked used again, and what no longer exists, in sentences. */
export function restorableSentences({ included, segments, bytes, killed }: RestorableSegments): string[] {
  if (!included) return []
  const amount = (one: Extent, noun: string): string =>
    `${countOf(one.segments, noun)} (${formatBytes(one.bytes)})`
  return [
    ...(segments > 0 ? [`${amount({ segments, bytes }, 'unused segment')} will be marked used.`] : []),
    ...(killed.segments > 0
      ? [
          `${amount(killed, 'segment')} cannot be restored: kill tasks have deleted ${killed.segments === 1 ? 'it' : 'them'}.`,
        ]
      : []),
  ]
}
