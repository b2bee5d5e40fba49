/** A segment: the unit of data of one datasource, interval, version and partition; id, wire form, types of columns. */
export * from './column-types.ts'
export * from './segment.ts'
