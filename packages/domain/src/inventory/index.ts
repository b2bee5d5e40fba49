/** Segments and the servers that have them, in compact columns: a million segments take about 50 MB. */
export * from './block-column.ts'
export * from './change-journal.ts'
export * from './copy-table.ts'
export { grown } from './grow-column.ts'
export { HashIndex, hashNumber, hashText } from './hash-index.ts'
export { overshadowingVersions } from './overshadowing-versions.ts'
export * from './segment-table.ts'
