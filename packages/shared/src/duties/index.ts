/** Periodic jobs of a leader, in groups with a period each, with their status, metrics, and endpoints. */
export { createDutyGroup, type DutyGroup, rememberedRuns } from './duty-group.ts'
export { registerDutyMetrics } from './duty-metrics.ts'
export { type LeaderView, leaderAndDutyRoutes } from './leader-and-duty-routes.ts'
export type { Duty, RequestCounts } from './run-duty.ts'
