/** Parts of answers that several endpoints share. */
export { fullHistoryEntryShape, historyAnswer, historyEntryShape } from './history-entry.ts'
export { keepFor } from './keep-for.ts'
export { continued, fullDatasource, payloadTextPages } from './payload-pieces.ts'
export { payloadsWithStatus } from './segment-status.ts'
export { createServedReader, idsOf, type ServedReader, sizesByInterval } from './served-reader.ts'
export {
  datasourceShape,
  datasourceSizesShape,
  intervalsShape,
  servedSegmentShape,
  sizeAndCountShape,
} from './served-shapes.ts'
export { loadUnavailableServers, serverProblemsShape } from './server-problems.ts'
export { warningsHeader } from './warnings-header.ts'
