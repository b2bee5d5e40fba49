import { invalidInput, tooLarge } from '@svc/domain/failure'
import type { SegmentPayload } from '@svc/domain/segment'
import { refuse } from '@svc/domain/validation'
import { type DeepStorage, errorCode, isDiskFull, safeFileName } from '../deep-storage/index.ts'
import type { Logger } from '../runtime/index.ts'
import {
  folderNames,
  type Location,
  loadFromDeepStorage,
  openLocation,
  segmentFile,
  takeOut,
} from './cache-location.ts'
import { checkFolder, type FolderState } from './entry-folder.ts'
import { createKeyedQueue } from './keyed-queue.ts'

/** A folder for segments and its size limit. */
export interface CacheLocation {
  readonly path: string
  readonly maxSizeBytes: number
}

/** A damaged segment that was found and removed when the cache was opened. */
export interface DamagedSegment {
  readonly folder: string
  readonly problem: string
  /** Undefined if the folder does not say which segment it contains. */
  readonly payload: SegmentPayload | undefined
}

export interface SegmentCacheOptions {
  /** The name of this server, for messages. */
  readonly serverName: string
  readonly locations: readonly CacheLocation[]
  /** Max size of all locations together; defaults to the sum of their limits. */
  readonly maxSizeBytes?: number | undefined
  readonly deepStorage: DeepStorage
  readonly logger: Logger
}

/** The segments on this server's disks. A segment is either complete, checked, and served, or absent. */
export interface SegmentCache {
  readonly maxSizeBytes: number
  /** Bytes of complete segments and of those being loaded. */
  readonly usedSizeBytes: number
  /** A damaged segment that was found and removed when the cache was opened. */
  readonly damaged: readonly DamagedSegment[]
  has(segmentId: string): boolean
  list(): SegmentPayload[]
  /** The Parquet file of a complete segment. */
  fileOf(segmentId: string): string | undefined
  /**
   * Loads a segment from deep storage. Keeps a segment that is already here; replaces one with the same ID and
   * different bytes. Waits for segments that are being removed if the space is not enough before. Throws a tooLarge Failure if
   * the segment does not fit, any Failure of DeepStorage.fetch, or the
   * signal's reason, and leaves nothing behind.
   */
  load(payload: SegmentPayload, signal?: AbortSignal): Promise<void>
  /** Removes a segment. Does nothing if it is not here. */
  drop(segmentId: string): Promise<void>
}

// A disk handles a few concurrent readers well; hashing uses one pool thread for each.
const checkedAtOnce = 4

async function forEachOf<T>(items: readonly T[], atOnce: number, work: (item: T) => Promise<void>) {
  const queue = items.values()
  const worker = async () => {
    for (const item of queue) await work(item)
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, worker))
}

const freeBytes = (location: Location): number => location.maxSizeBytes - location.usedSizeBytes

async function openLocations(configured: readonly CacheLocation[]): Promise<Location[]> {
  const locations: Location[] = []
  for (const { path, maxSizeBytes } of configured) {
    const location = await openLocation(path, maxSizeBytes)
    if (locations.some((other) => other.path === location.path)) {
      throw invalidInput(`Segment cache location [${path}] is listed twice`, { location: path })
    }
    locations.push(location)
  }
  return locations
}

/** A complete segment and where it is. */
interface Entry {
  readonly payload: SegmentPayload
  readonly location: Location
}

/**
 * Opens the cache on this server's disks. Checks the size and checksum of every segment file, removes damaged segments
 * and leftovers of interrupted work, and resolves when all others can be served.
 */
export async function openSegmentCache(options: SegmentCacheOptions): Promise<SegmentCache> {
  const locations = await openLocations(options.locations)
  const maxSizeBytes =
    options.maxSizeBytes ?? locations.reduce((sum, location) => sum + location.maxSizeBytes, 0)
  const { entries, damaged } = await checkSegments(locations, options.logger)
  return createSegmentCache({ ...options, locations, maxSizeBytes }, entries, damaged)
}

/** Checks all segments in these locations. Removes what cannot be served. */
async function checkSegments(
  locations: readonly Location[],
  logger: Logger,
): Promise<{ readonly entries: Map<string, Entry>; readonly damaged: readonly DamagedSegment[] }> {
  const entries = new Map<string, Entry>()
  const damaged: DamagedSegment[] = []

  async function admit(location: Location, folderName: string, state: FolderState): Promise<void> {
    const twice = state.kind === 'complete' && entries.has(state.payload.identifier)
    if (state.kind === 'complete' && !twice) {
      entries.set(state.payload.identifier, { payload: state.payload, location })
      location.usedSizeBytes += state.payload.size
      return
    }
    if (state.kind === 'damaged') {
      damaged.push({ folder: folderName, problem: state.problem, payload: state.payload })
      logger.warn('Found a damaged segment in the cache; removing it', {
        folder: folderName,
        location: location.path,
        problem: state.problem,
      })
    }
    await removeFolder(location, folderName, logger)
  }

  for (const location of locations) {
    await forEachOf(await folderNames(location), checkedAtOnce, async (folderName) => {
      await admit(location, folderName, await checkFolder(location.segmentsDirectory, folderName))
    })
  }
  // A damaged copy does not matter if another location has an intact one.
  const toFetchAgain = damaged.filter(({ payload }) => !payload || !entries.has(payload.identifier))
  return { entries, damaged: toFetchAgain }
}

async function removeFolder(location: Location, folderName: string, logger: Logger): Promise<void> {
  const discard = await takeOut(location, folderName)
  await discard().catch((error: unknown) => {
    logger.warn(
      'Failed to delete the files of a dropped segment; they stay on disk until the server restarts',
      {
        location: location.path,
        problem: errorCode(error),
      },
    )
  })
}

/** What a cache consists of: its options, with prepared locations. */
interface CacheParts extends Pick<SegmentCacheOptions, 'serverName' | 'deepStorage' | 'logger'> {
  readonly locations: readonly Location[]
  readonly maxSizeBytes: number
  /** The removals in progress; they never reject. */
  readonly removals: Set<Promise<void>>
}

const usedBytes = (locations: readonly Location[]): number =>
  locations.reduce((sum, location) => sum + location.usedSizeBytes, 0)

function createSegmentCache(
  options: Omit<CacheParts, 'removals'>,
  entries: Map<string, Entry>,
  damaged: readonly DamagedSegment[],
): SegmentCache {
  const parts = { ...options, removals: new Set<Promise<void>>() }
  const { locations, maxSizeBytes, logger, removals } = parts
  const inTurn = createKeyedQueue()

  async function load(payload: SegmentPayload, signal: AbortSignal | undefined): Promise<void> {
    if (!Number.isSafeInteger(payload.size) || payload.size < 0) {
      throw refuse('size', payload.size, 'a number of bytes')
    }
    const present = entries.get(payload.identifier)?.payload
    if (present?.loadSpec.checksum === payload.loadSpec.checksum && present.size === payload.size) return
    await remove(payload.identifier)
    const location = await loadIntoAnyLocation(parts, payload, signal)
    entries.set(payload.identifier, { payload, location })
  }

  async function remove(segmentId: string): Promise<void> {
    const entry = entries.get(segmentId)
    if (entry === undefined) return
    entries.delete(segmentId)
    const { promise, resolve } = Promise.withResolvers<void>()
    removals.add(promise)
    try {
      await removeFolder(entry.location, safeFileName(segmentId), logger)
      entry.location.usedSizeBytes -= entry.payload.size
    } catch (error) {
      entries.set(segmentId, entry)
      throw error
    } finally {
      removals.delete(promise)
      resolve()
    }
  }

  return {
    maxSizeBytes,
    get usedSizeBytes() {
      return usedBytes(locations)
    },
    damaged,
    has: (segmentId) => entries.has(segmentId),
    list: () => [...entries.values()].map((entry) => entry.payload),
    fileOf: (segmentId) => {
      const entry = entries.get(segmentId)
      return entry && segmentFile(entry.location, segmentId)
    },
    load: (payload, signal) => inTurn(payload.identifier, () => load(payload, signal)),
    drop: (segmentId) => inTurn(segmentId, () => remove(segmentId)),
  }
}

/** Loads a segment into the location with the most free space. Returns the location. Throws if the segment does not fit. */
async function loadIntoAnyLocation(
  parts: CacheParts,
  payload: SegmentPayload,
  signal: AbortSignal | undefined,
): Promise<Location> {
  const { locations, maxSizeBytes, deepStorage, removals } = parts
  const full = new Set<Location>()
  let fullDisk: unknown
  for (;;) {
    signal?.throwIfAborted()
    const fits = usedBytes(locations) + payload.size <= maxSizeBytes
    const [location] = locations
      .filter((candidate) => fits && !full.has(candidate) && freeBytes(candidate) >= payload.size)
      .sort((a, b) => freeBytes(b) - freeBytes(a))
    if (location === undefined) {
      if (removals.size === 0) throw fullDisk ?? refuseSize(parts, payload)
      // The coordinator assigns loads to the space of segments that it drops.
      await Promise.race(removals)
      continue
    }
    location.usedSizeBytes += payload.size
    try {
      await loadFromDeepStorage(location, payload, deepStorage, signal)
      return location
    } catch (error) {
      location.usedSizeBytes -= payload.size
      // Other programs may fill this disk; another location may be on a disk with free space.
      if (!isDiskFull(error)) throw error
      full.add(location)
      fullDisk = error
    }
  }
}

function refuseSize({ serverName, locations, maxSizeBytes }: CacheParts, payload: SegmentPayload): never {
  const free = Math.max(
    0,
    Math.min(maxSizeBytes - usedBytes(locations), Math.max(...locations.map(freeBytes))),
  )
  throw tooLarge(
    `Segment [${payload.identifier}] needs [${payload.size}] bytes, but server [${serverName}] has only [${free}] of its [${maxSizeBytes}] bytes free`,
    { server: serverName, segment: payload.identifier },
  )
}
