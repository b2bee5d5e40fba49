/** Whether the leader knows the cluster, and whether the cluster is settled. */
export { type ClusterState, type ClusterStateTracker, trackClusterState } from './cluster-state.ts'
export { describeShortages, type RunInputs, type RunResult } from './run-result.ts'
