/** Writes the metadata and deep storage of a cluster to a folder, and creates a new home from such a folder. */
export { backUp } from './back-up.ts'
export { restore } from './restore.ts'
