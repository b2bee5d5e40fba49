import type { ServiceContext } from '@svc/shared/service'
import type { DutyGroup } from '../duties/index.ts'
import type { FollowedRules } from '../followed-rules.ts'
import type { SegmentInventory, ServerInventory } from '../inventory/index.ts'
import type { Leadership } from '../leadership.ts'

/** What the endpoints about the cluster show. */
export interface ClusterView {
  readonly context: ServiceContext
  readonly leadership: Leadership
  readonly segments: SegmentInventory
  readonly servers: ServerInventory
  readonly rules: FollowedRules
  readonly dutyGroups: readonly DutyGroup[]
}
