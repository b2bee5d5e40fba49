/** The segment cache: the segment files on a server's own disks that it serves. */
export { openSegmentCache, type SegmentCache } from './open-segment-cache.ts'
