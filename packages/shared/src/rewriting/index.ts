/** Compaction's work: reads segments out of deep storage, rewrites their rows with DuckDB, and stores new ones. */
export {
  type RewriteOptions,
  type RewriteOrder,
  type RewriteOrderBucket,
  type RewriteProgress,
  type RewriteResult,
  type RewriteSource,
  rewriteSegments,
} from './rewrite-segments.ts'
