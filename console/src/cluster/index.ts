/** What the page knows about the cluster, kept current while it is visible. */

export * from './access-queries.ts'
export * from './cluster-queries.ts'
export * from './compaction-queries.ts'
export * from './explanation-query.ts'
export * from './fault-queries.ts'
export * from './health-queries.ts'
export { useConnection, useLiveUpdates } from './live-updates.ts'
export { refreshMs } from './refresh-ms.ts'
export * from './refusal-queries.ts'
export * from './rule-queries.ts'
export * from './unused-queries.ts'
export { useIsCut } from './use-is-cut.ts'
