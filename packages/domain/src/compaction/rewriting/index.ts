/** What a compaction reads and writes: which parts of which segments go into which new segments. */
export * from './partitions.ts'
export * from './plan-rewrite.ts'
export * from './rewrite-virtually.ts'
