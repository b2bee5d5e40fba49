import type { Segment } from '../segment/index.ts'
import { analyzeTimeline } from '../timeline/index.ts'

/**
 * Returns the ids of unused segments of one datasource that can be marked as used: those that neither used segments nor
 * other candidates overshadow. `used` are the used segments that overlap them.
 */
export function planMarkUsed(candidates: readonly Segment[], used: readonly Segment[]): string[] {
  const { overshadowed } = analyzeTimeline([...candidates, ...used])
  return candidates.filter((_, index) => !overshadowed[index]).map(({ id }) => id)
}
