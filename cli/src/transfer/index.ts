/** Carries what a cluster manages from one place to another: read from a cluster or a folder, written to a folder. */
export { type ExportResult, exportSnapshot } from './export-snapshot.ts'
export { openFolder } from './folder-source.ts'
export { openHttp } from './http-source.ts'
export { readSegmentRow } from './segment-row.ts'
export { type DocumentName, documents, type SegmentRow, type SnapshotSource } from './snapshot-source.ts'
