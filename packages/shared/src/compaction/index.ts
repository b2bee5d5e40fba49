/**
 * Compaction for the current state of the cluster: plans, task submission, and the endpoints that coordinator and
 * overlord share. The work of one compaction task has its own entry point, `rewriting`, so that peons load nothing
 * else.
 */
export { compactionHistory } from './config-history.ts'
export { followCompaction } from './follow-compaction.ts'
export {
  type CompactionDriver,
  type CompactionPlanner,
  createCompactionPlanner,
  driverOf,
  type LivePlan,
  type PlanRequest,
} from './planner.ts'
export { compactionPreviewLimits, compactionPreviewRoute } from './preview-route.ts'
export {
  compactionHistoryShape,
  compactionScheduleShape,
  compactionStatusShape,
  fullClusterCompactionConfigShape,
  fullCompactionConfigShape,
} from './response-shapes.ts'
export { compactionRateOf, forecastOf, scheduleOf, submitCompactions } from './submit-compactions.ts'
