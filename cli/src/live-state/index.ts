/** The configuration of a running cluster: read, and changed entry by entry. */
export { assertReadable, hiddenEntries, incompleteNotice, withHiddenEntries } from './hidden-entries.ts'
export { compactionClusterPath } from './paths.ts'
export { partNames, readLiveState, readVersioned, type VersionedValue } from './read-live-state.ts'
export { readServerSettings, type ServerSettings } from './read-server-settings.ts'
export { watchHistory } from './watch-history.ts'
export { changedMeanwhile } from './write-access-entry.ts'
export { writeCompactionCluster } from './write-compaction-cluster.ts'
export { assertMayWrite, type WriteContext, writeEntry, writeFields } from './write-live-state.ts'
