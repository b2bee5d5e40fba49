/** Whether the leader knows the cluster, and whether the cluster is settled. */
export {
  type ClusterState,
  type ClusterStateTracker,
  type CompleteClusterState,
  haveSameRules,
  trackClusterState,
} from './cluster-state.ts'
export { datasourcesReadableBy, type ReadableDatasources } from './readable-datasources.ts'
export {
  type RunResult,
  type Shortage,
  shortageSentence,
  shortageSentences,
  shortagesOf,
  shortageView,
} from './run-result.ts'
