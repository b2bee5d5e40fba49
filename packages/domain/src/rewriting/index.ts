/** What a compaction reads and what it writes: which parts of which segments go into which new ones. */
export * from './partitions.ts'
export * from './plan-rewrite.ts'
export * from './rewrite-virtually.ts'
