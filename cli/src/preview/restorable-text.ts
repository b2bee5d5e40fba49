import type { AnsweredRestorable } from '@svc/domain/preview'
import { countOf, formatBytes } from '../terminal/index.ts'

/** What is marked as used again, and what no longer exists, in sentences. */
export function restorableSentences({ included, segments, bytes, killed }: AnsweredRestorable): string[] {
  if (!included) return []
  const amount = (one: Pick<AnsweredRestorable, 'segments' | 'bytes'>, noun: string): string =>
    `${countOf(one.segments, noun)} (${formatBytes(one.bytes)})`
  return [
    ...(segments > 0 ? [`${amount({ segments, bytes }, 'unused segment')} will be marked as used.`] : []),
    ...(killed.segments > 0
      ? [
          `${amount(killed, 'segment')} cannot be restored: kill tasks have deleted ${killed.segments === 1 ? 'it' : 'them'}.`,
        ]
      : []),
  ]
}
