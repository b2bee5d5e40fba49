/** Periodic jobs of the coordinator leader, in groups with a period each. */
export { createDutyGroups, type DutyGroups } from './create-duty-groups.ts'
export { killAuditLog } from './kill-audit-log.ts'
export { killUnusedSegments } from './kill-unused-segments.ts'
export { RequestJournal } from './request-journal.ts'
export { runRules } from './run-rules.ts'
