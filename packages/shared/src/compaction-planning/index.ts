/** Compaction planning for the current state of the cluster: for statuses, previews, and task submission. */
export {
  type CompactionDriver,
  type CompactionPlanner,
  createCompactionPlanner,
  type LivePlan,
} from './planner.ts'
export { submitCompactions } from './submit-compactions.ts'
