import { formatCount } from '@svc/domain/text'
import type { QueueSize } from '../cluster/index.ts'

/** Says what a server has not loaded or dropped yet. */
export function queueText(queue: QueueSize | undefined): string {
  const { segmentsToLoad = 0, segmentsToDrop = 0 } = queue ?? {}
  if (segmentsToLoad + segmentsToDrop === 0) return 'idle'
  return `${formatCount(segmentsToLoad)} to load, ${formatCount(segmentsToDrop)} to drop`
}
