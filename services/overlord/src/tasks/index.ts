/** Tasks on their way to the workers. */
export { startTaskQueueing } from './queue-tasks.ts'
