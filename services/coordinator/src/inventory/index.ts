/** State that the leader tracks: used segments, rules, the configuration, and the servers that report to it. */
export { followCoordinatorConfig, loadCoordinatorConfig } from './coordinator-config.ts'
export { followAsStandby } from './follow-as-standby.ts'
export { type FollowedRules, followRules } from './followed-rules.ts'
export {
  byInterval,
  type ServedTogether,
  type SizeAndCount,
  servedSegments,
  sizeAndCount,
} from './list-served-segments.ts'
export { createLoadMeter, type LoadMeter } from './load-meter.ts'
export type { PendingRequest } from './pending-request.ts'
export { readableRules, readsRules } from './readable-rules.ts'
export { type ReportedServers, watchReported } from './reported-servers.ts'
export { rulesText } from './rules-text.ts'
export { createSegmentInventory, type SegmentInventory } from './segment-inventory.ts'
export {
  type LostServerState,
  type QueueSize,
  ServerInventory,
  type ServerInventoryEvents,
  type ServerState,
} from './server-inventory.ts'
