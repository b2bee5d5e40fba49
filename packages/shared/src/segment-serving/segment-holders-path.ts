/**
 * The path on the coordinator leader that lists which servers serve the used segments of `dataSource`. The response
 * has one JSON list per line: the ID of a segment, and the names of its servers.
 */
export const segmentHoldersPath = '/svc-internal/v1/segments/holders'

/** One line: the ID of a segment, and the names of the servers that serve it. */
export type SegmentHolders = readonly [id: string, ...servers: string[]]
