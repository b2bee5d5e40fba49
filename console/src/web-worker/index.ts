/** The web worker of the page: keeps the inventory of a cluster or snapshot, and computes previews. */
export { compactIds, type Ids, SegmentIds } from './dropped-segments.ts'
export type * from './messages.ts'
export { callWorker, listenToCluster, startWorker } from './worker-client.ts'
