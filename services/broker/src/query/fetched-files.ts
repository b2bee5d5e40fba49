import { conflict, notFound, unavailable } from '@svc/domain/failure'
import type { SegmentPayload } from '@svc/domain/segment'
import {
  type Batch,
  type Fetch,
  type FetchSources,
  fetchBatch,
  inBatches,
  type NeededSegment,
} from './fetch-segment-files.ts'
import { type CachedFile, SegmentFileCache, type SegmentFileCacheOptions } from './segment-file-cache.ts'

/** Files that are not evicted until they are released. */
export interface HeldFiles {
  fileOf(segmentId: string): string
  payloadOf(segmentId: string): SegmentPayload
  release(): void
}

/** The Parquet files that queries read. They are fetched on demand and cached while there is room. */
export interface FetchedFiles {
  /** Whether a segment's file is in the cache. */
  has(segmentId: string): boolean
  /**
   * Fetches all files. Throws conflict if a segment is virtual, tooLarge if the files do not fit together, unavailable
   * if a file cannot be fetched, or the signal's reason.
   */
  hold(needed: readonly NeededSegment[], signal: AbortSignal): Promise<HeldFiles>
  readonly usedSizeBytes: number
}

export interface FetchedFilesOptions extends SegmentFileCacheOptions, FetchSources {
  loadPayloads(ids: readonly string[]): Promise<ReadonlyMap<string, SegmentPayload>>
}

type Payloads = ReadonlyMap<string, SegmentPayload>

const fetchedAtOnce = 8

export function createFetchedFiles(options: FetchedFilesOptions): FetchedFiles {
  const cache = new SegmentFileCache(options)
  return {
    has: (segmentId) => cache.get(segmentId)?.ready ?? false,
    get usedSizeBytes() {
      return cache.usedSizeBytes
    },
    hold: async (needed, signal) => {
      const absent = needed.map(({ id }) => id).filter((id) => cache.get(id) === undefined)
      const payloads: Payloads = absent.length > 0 ? await options.loadPayloads(absent) : new Map()
      signal.throwIfAborted()
      refuseVirtual(payloads.values())
      const held = new Map<string, CachedFile>()
      const release = (): void => {
        for (const file of held.values()) file.holders -= 1
        held.clear()
      }
      try {
        // No other query may see a file before its fetching has started, so nothing is awaited in between.
        const fetches = holdAll(cache, held, needed, payloads)
        await fetchAll(cache, options, fetches, signal)
        // Another query may still be fetching the rest.
        await Promise.all([...held.values()].map((file) => file.fetched))
        signal.throwIfAborted()
      } catch (error) {
        release()
        throw error
      }
      return {
        fileOf: (id) => (held.get(id) as CachedFile).path,
        payloadOf: (id) => (held.get(id) as CachedFile).payload,
        release,
      }
    },
  }
}

/** Holds all files and makes room for those that are not in the cache. Returns the files that must be fetched. */
function holdAll(
  cache: SegmentFileCache,
  held: Map<string, CachedFile>,
  needed: readonly NeededSegment[],
  payloads: Payloads,
): Fetch[] {
  const hold = (id: string, file: CachedFile): void => {
    cache.hold(id, file)
    held.set(id, file)
  }
  for (const { id } of needed) {
    const file = cache.get(id)
    if (file) hold(id, file)
  }
  const toFetch = needed
    .filter(({ id }) => !held.has(id))
    .map((one) => {
      const payload = payloads.get(one.id)
      if (!payload) throw notFound(`Segment [${one.id}] was deleted`)
      return { needed: one, payload }
    })
  cache.makeRoom(toFetch.reduce((sum, { payload }) => sum + payload.size, 0))
  return toFetch.map(({ needed: one, payload }) => {
    const file = cache.add(one.id, payload)
    hold(one.id, file)
    return { needed: one, file }
  })
}

/** Fetches files, several batches at once. After a failure, removes all files that were not fetched. */
async function fetchAll(
  cache: SegmentFileCache,
  sources: FetchSources,
  fetches: readonly Fetch[],
  signal: AbortSignal,
): Promise<void> {
  const batches = inBatches(fetches)
  let next = 0
  const removeUnfetched = (batch: Batch): void => {
    for (const { needed, file } of batch.fetches) if (!file.ready) cache.remove(needed.id, file)
  }
  const fetchBatches = async (): Promise<void> => {
    for (let batch = batches[next++]; batch !== undefined; batch = batches[next++]) {
      try {
        signal.throwIfAborted()
        await cache.open()
        await fetchBatch(sources, batch, signal)
      } catch (error) {
        removeUnfetched(batch)
        throw error
      }
    }
  }
  const workers = Array.from({ length: Math.min(fetchedAtOnce, batches.length) }, () => fetchBatches())
  for (const { file } of fetches) {
    file.fetched = Promise.allSettled(workers).then(() => {
      if (!file.ready) throw unavailable('Another query failed to fetch a segment that this query needs')
    })
    file.fetched.catch(() => undefined)
  }
  await settle(workers, () => {
    for (const batch of batches.slice(next)) removeUnfetched(batch)
    next = batches.length
  })
}

/** Throws a conflict for a virtual segment. No server will ever have its rows, so retrying would not help. */
function refuseVirtual(payloads: Iterable<SegmentPayload>): void {
  for (const { dataSource, loadSpec, identifier } of payloads) {
    if (loadSpec.type !== 'virtual') continue
    throw conflict(
      `Datasource [${dataSource}] has virtual segments such as [${identifier}]. Virtual segments have no rows; query [sys.segments] instead`,
      { dataSource },
    )
  }
}

/** Waits for all workers. Calls `onFailure` at the first failure, and throws it once the other workers have finished. */
async function settle(workers: readonly Promise<void>[], onFailure: () => void): Promise<void> {
  let failure: { readonly error: unknown } | undefined
  await Promise.all(
    workers.map((worker) =>
      worker.catch((error: unknown) => {
        if (!failure) onFailure()
        failure ??= { error }
      }),
    ),
  )
  if (failure) throw failure.error
}
