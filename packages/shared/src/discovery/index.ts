/** Discovery of live servers, and leader election. */
export {
  baseUrlOf,
  type DiscoveredNode,
  type Discovery,
  type LeadingRole,
  startDiscovery,
} from './discovery.ts'
export { type Election, type LeadershipChange, startElection } from './election.ts'
export { capacityOf, taskWorkers, totalWorkerCapacity } from './task-workers.ts'
