/** Whether the leader knows the cluster, and whether the cluster is settled. */
export {
  type ClusterState,
  type ClusterStateTracker,
  haveSameRules,
  trackClusterState,
} from './cluster-state.ts'
export { type RunResult, type Shortage, shortageSentences, shortagesOf } from './run-result.ts'
