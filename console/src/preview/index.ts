/** Previews, computed in a worker of the page. */
export type * from './messages.ts'
export { callWorker } from './worker-client.ts'
