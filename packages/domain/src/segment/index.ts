/** A segment: the unit of data of one datasource, interval, version and partition; its id and its wire form. */
export * from './columns.ts'
export * from './segment.ts'
