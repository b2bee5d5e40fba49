/** Deciding about compaction on the cluster as it is: for statuses, previews, and whoever submits the tasks. */
export {
  type CompactionDriver,
  type CompactionPlanner,
  createCompactionPlanner,
  type LivePlan,
} from './planner.ts'
export { submitCompactions } from './submit-compactions.ts'
