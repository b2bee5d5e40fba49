/** Waits until a cluster has reached a state, and shows its changes. */
export * from './cluster-state.ts'
export * from './conditions.ts'
export { rulesAreEvaluated } from './duty-runs.ts'
export { loadUnfinishedTasks } from './unfinished-tasks.ts'
export * from './wait-until.ts'
export * from './watch.ts'
