/** A cluster's metadata and deep storage written to a folder, and a new home made from such a folder. */
export { type BackupProgress, type BackupResult, backUp } from './back-up.ts'
export { type RestoreResult, restore } from './restore.ts'
