/**
 * The work of a compaction: reads segments from deep storage, rewrites their rows with DuckDB, and stores new segments.
 */
export {
  type RewriteOrder,
  type RewriteOrderBucket,
  type RewriteProgress,
  type RewriteResult,
  type RewriteSource,
  rewriteSegments,
} from './rewrite-segments.ts'
