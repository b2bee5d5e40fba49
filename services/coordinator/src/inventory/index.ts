/** What the leader knows: the used segments of the metadata store, and the servers that report to it. */
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
