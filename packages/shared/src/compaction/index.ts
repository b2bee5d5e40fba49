/** What coordinator and overlord both answer about compaction. */
export { compactionHistory, compactionHistoryQuery } from './history.ts'
export { compactionPreviewRoute } from './preview-route.ts'
