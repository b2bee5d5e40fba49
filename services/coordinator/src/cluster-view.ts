import type { DutyGroup } from '@svc/shared/duties'
import type { ServiceContext } from '@svc/shared/service'
import type { FollowedRules, SegmentInventory, ServerInventory } from './inventory/index.ts'
import type { Leadership } from './leadership/index.ts'

/** State that the cluster endpoints show. */
export interface ClusterView {
  readonly context: Pick<
    ServiceContext,
    'clock' | 'database' | 'discovery' | 'node' | 'simulatedClock' | 'stopping'
  >
  readonly leadership: Leadership
  readonly segments: SegmentInventory
  readonly servers: ServerInventory
  readonly rules: FollowedRules
  readonly dutyGroups: readonly DutyGroup[]
}
