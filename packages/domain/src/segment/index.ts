/**
 * Segments: ids, JSON payloads, and column types. A segment is the data of one datasource, interval, version, and
 * partition.
 */
export * from './column-types.ts'
export * from './segment.ts'
