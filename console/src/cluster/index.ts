/** What the page knows about the cluster, kept current while it is visible. */

export * from './cluster-queries.ts'
export { useConnection, useLiveUpdates } from './live-updates.ts'
export * from './queries.ts'
