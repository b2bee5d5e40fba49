/** Previews, computed in a worker of the page. */
export type * from './messages.ts'
export { callWorker, listenToCluster } from './worker-client.ts'
