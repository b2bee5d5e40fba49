/** The periodic duties of the leading overlord. */
export { createDutyGroups } from './duty-groups.ts'
export { queueTasks } from './queue-tasks.ts'
