/** Previews, computed in a worker of the page. */
export type * from './messages.ts'
export { callWorker, listenToCluster, startWorker } from './worker-client.ts'
