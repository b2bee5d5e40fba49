/** Compaction endpoints that coordinator and overlord share. */
export { compactionHistory, compactionHistoryQuery } from './history.ts'
export { compactionPreviewRoute } from './preview-route.ts'
