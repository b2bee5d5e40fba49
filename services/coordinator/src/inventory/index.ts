/** What the leader knows: used segments, rules, the configuration, and the servers that report to it. */
export { type FollowedRules, followRules } from './followed-rules.ts'
export { loadCoordinatorConfig } from './load-coordinator-config.ts'
export { createSegmentInventory, type SegmentInventory } from './segment-inventory.ts'
export {
  byInterval,
  type ServedTogether,
  type SizeAndCount,
  servedSegments,
  sizeAndCount,
} from './served-view.ts'
export {
  type PendingRequest,
  type QueueSize,
  ServerInventory,
  type ServerInventoryEvents,
  type ServerState,
} from './server-inventory.ts'
export { type AwaitedServer, awaitedServers, untilServersReported } from './servers-reported.ts'
