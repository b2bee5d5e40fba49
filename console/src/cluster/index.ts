/** What the page knows about the cluster, kept current while it is visible. */

export * from './cluster-queries.ts'
export * from './compaction-query.ts'
export * from './rule-queries.ts'
