/** Periodic jobs of a leader, in groups with a period each, with their status, metrics, and endpoints. */
export { createDutyGroup, type DutyGroup, type DutyGroupStatus } from './duty-group.ts'
export { type LeaderView, leaderRoutes } from './leader-routes.ts'
export type { Duty, DutyRun, DutyTimes } from './run-duty.ts'
export { watchDuties } from './watch-duties.ts'
