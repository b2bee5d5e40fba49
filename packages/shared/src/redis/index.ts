/**
 * Redis: work queues for data servers and task workers, and the connection, which failed-login counters use as well.
 * Never a source of truth: all of it may be lost.
 */

export type { Redis as QueueConnection } from 'ioredis'
export { deleteQueues, openProducerConnection } from './connection.ts'
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
