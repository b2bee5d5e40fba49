/** The page without a cluster: a snapshot that the user opens, and everything in memory. */

export { useOpenedSnapshot } from './opened-snapshot.ts'
export { SnapshotGate } from './snapshot-gate.tsx'
export { SnapshotLabel } from './snapshot-label.tsx'
