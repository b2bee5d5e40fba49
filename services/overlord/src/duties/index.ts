/** The periodic duties of the overlord leader. */
export { createDutyGroups } from './create-duty-groups.ts'
export { queueTasks } from './queue-tasks.ts'
