import { type CompactionPlanner, submitCompactions } from '@svc/shared/compaction'
import type { Duty } from '@svc/shared/duties'
import type { ServiceContext } from '@svc/shared/service'

/** Submits the compact tasks of supervisors, if they run compaction. */
export function runSupervisors(
  context: Pick<ServiceContext, 'client' | 'clock' | 'logger' | 'stopping'>,
  planner: CompactionPlanner,
  isLeading: (term: number) => boolean,
): Duty {
  return {
    name: 'runSupervisors',
    run: (term) => submitCompactions(context, planner, 'supervisors', () => isLeading(term)),
  }
}
