/** Periodic jobs of a leader, in groups with a period each, and their status and metrics. */
export { createDutyGroup, type DutyGroup, type DutyGroupStatus } from './duty-group.ts'
export type { Duty, DutyRun, DutyTimes } from './run-duty.ts'
export { watchDuties } from './watch-duties.ts'
