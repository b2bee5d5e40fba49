/** Copies the inventory and configuration of a cluster: reads it from a cluster or a folder, and writes it to a folder. */
export { exportSnapshot, type Snapshot, takeSnapshot } from './export-snapshot.ts'
export { openFolder } from './folder-source.ts'
export { openHttp } from './http-source.ts'
export type { SourceAuthorizer, SourceCounts, SourceSecurity, SourceSupervisor } from './restricted-parts.ts'
export type { SnapshotDocuments } from './snapshot-documents.ts'
export type { Seen, SegmentRow, ServedSegments, SnapshotSource } from './snapshot-source.ts'
export type { StagedRestrictedParts } from './stage-restricted-parts.ts'
