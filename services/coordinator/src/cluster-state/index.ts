/** Whether the leader knows the cluster, and whether the cluster is settled. */
export { type ClusterStateTracker, trackClusterState } from './cluster-state.ts'
export { describeShortages, type RunResult } from './run-result.ts'
