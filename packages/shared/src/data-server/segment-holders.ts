/**
 * Where the leading coordinator tells which servers hold the used segments of `dataSource`: JSON, a list a line, with the
 * id of a segment and the names of its servers.
 */
export const segmentHoldersPath = '/svc-internal/v1/segments/holders'

/** One line: the id of a segment, and the names of the servers that hold it. */
export type SegmentHolders = readonly [id: string, ...servers: string[]]
