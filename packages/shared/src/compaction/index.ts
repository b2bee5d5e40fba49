/** What coordinator and overlord both answer about compaction. */
export { compactionHistory, compactionHistoryQuery } from './history.ts'
export { compactionSimulationRoute } from './preview-route.ts'
