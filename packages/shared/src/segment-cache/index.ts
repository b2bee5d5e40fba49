/** The segment cache: the segment files on a server's own disks that it serves. */
export {
  type CacheLocation,
  type DamagedSegment,
  openSegmentCache,
  type SegmentCache,
  type SegmentCacheOptions,
} from './open-segment-cache.ts'
