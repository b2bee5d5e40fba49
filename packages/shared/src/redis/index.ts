/**
 * Redis: queues of work on its way to data servers and task workers, and the connection, which counts of failed logins
 * use as well. Never truth: all of it may be lost.
 */

export type { Redis as QueueConnection } from 'ioredis'
export { openProducerConnection } from './connection.ts'
export {
  createRequestSender,
  type RequestBatch,
  type RequestReceiver,
  type RequestSender,
  receiveRequests,
  type SegmentRequest,
} from './load-queue.ts'
export { readQueueEpoch } from './queue-epoch.ts'
export { createTaskSender, receiveTasks, type TaskReceiver, type TaskSender } from './task-queue.ts'
