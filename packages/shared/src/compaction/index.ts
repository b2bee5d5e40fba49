/**
 * Compaction for the current state of the cluster: plans, task submission, and the endpoints that coordinator and
 * overlord share. The work of one compaction task has its own door, `rewriting`, so that peons load nothing else.
 */
export { compactionHistory } from './config-history.ts'
export { type CompactionPlanner, createCompactionPlanner, type LivePlan } from './planner.ts'
export { compactionPreviewRoute } from './preview-route.ts'
export {
  compactionHistoryShape,
  compactionStatusShape,
  fullClusterCompactionConfigShape,
  fullCompactionConfigShape,
} from './response-shapes.ts'
export { compactionScheduleRoute } from './schedule-route.ts'
export { compactionRateOf, forecastOf, scheduleOf, submitCompactions } from './submit-compactions.ts'
