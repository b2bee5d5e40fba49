/** The queues: work on its way to data servers and task workers. Never truth: all of it may be lost. */

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
