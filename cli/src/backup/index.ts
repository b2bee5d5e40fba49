/** Writes the metadata and deep storage of a cluster to a folder, and creates a new home from such a folder. */
export { type BackupProgress, type BackupResult, backUp } from './back-up.ts'
export { type RestoreResult, restore } from './restore.ts'
