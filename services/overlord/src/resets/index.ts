/** Resets of the cluster, and snapshots to which it can be reset, for tests. */
export { resetRoutes } from './reset-routes.ts'
export { keepInitialFiles } from './snapshot-files.ts'
