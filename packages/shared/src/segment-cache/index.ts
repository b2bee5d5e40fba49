/** The segment cache: the files of segments that a server holds on its own disks and serves. */
export {
  type CacheLocation,
  type DamagedSegment,
  openSegmentCache,
  type SegmentCache,
  type SegmentCacheOptions,
} from './open-segment-cache.ts'
