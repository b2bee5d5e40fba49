import { type CompactionPlanner, submitCompactions } from '@svc/shared/compaction'
import type { Duty } from '@svc/shared/duties'
import type { ServiceContext } from '@svc/shared/service'
import type { Leadership } from '../leadership/index.ts'

/** Submits compaction tasks for segments that need compaction, unless supervisors do. */
export function compactSegments(
  context: Pick<ServiceContext, 'client' | 'clock' | 'logger' | 'stopping'>,
  planner: CompactionPlanner,
  leadership: Leadership,
): Duty {
  return {
    name: 'compactSegments',
    run: (term) => submitCompactions(context, planner, 'duty', () => leadership.term() === term),
  }
}
