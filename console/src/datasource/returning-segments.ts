import type { RuleBoundaries } from '@svc/domain/rules'
import { parseInterval } from '@svc/domain/time'
import { boundariesOf } from './parsed-rules.ts'

/** The rules of a datasource and the cluster defaults, as JSON. */
interface ListedRules {
  readonly own: readonly object[]
  readonly defaults: readonly object[]
}

/** Returns how many unused segments an edit keeps that the stored rules drop, and their bytes. Invalid rules keep none. */
export function returningSegments(
  unused: readonly { readonly interval: string; readonly size: number }[],
  {
    stored,
    edited,
    now,
  }: { readonly stored: ListedRules; readonly edited: ListedRules; readonly now: number },
): { readonly segments: number; readonly bytes: number } {
  const [before, after] = [stored, edited].map(({ own, defaults }) => boundariesOf(own, defaults, now))
  const found = { segments: 0, bytes: 0 }
  if (before === undefined || after === undefined) return found
  for (const { interval, size } of unused) {
    const parsed = parseInterval(interval)
    const isDropped = (rules: RuleBoundaries) => rules.wantedBy(rules.match(parsed)).action === 'drop'
    if (!isDropped(before) || isDropped(after)) continue
    found.segments += 1
    found.bytes += size
  }
  return found
}
