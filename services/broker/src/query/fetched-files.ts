import { createHash, type Hash, randomUUID } from 'node:crypto'
import { copyFile, type FileHandle, link, mkdir, open, rename, rm } from 'node:fs/promises'
import path from 'node:path'
import { conflict, describeError, Failure, notFound, tooLarge, unavailable } from '@svc/domain/failure'
import type { SegmentPayload } from '@svc/domain/segment'
import type { ServiceClient } from '@svc/shared/client'
import { segmentFilesPath, takeFiles } from '@svc/shared/data-server'
import type { DeepStorage } from '@svc/shared/deep-storage'
import type { DiscoveredNode } from '@svc/shared/discovery'
import type { Logger } from '@svc/shared/runtime'

/** A segment whose file is needed, and where to fetch it from. */
export interface NeededSegment {
  readonly id: string
  /** The servers that serve it. */
  readonly servers: readonly DiscoveredNode[]
  /** The file in this server's own segment cache. */
  readonly ownFile: string | undefined
  readonly fromDeepStorage: boolean
}

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

export interface FetchedFilesOptions {
  readonly directory: string
  readonly maxSizeBytes: number
  readonly client: ServiceClient
  readonly deepStorage: DeepStorage
  readonly logger: Logger
  loadPayloads(ids: readonly string[]): Promise<ReadonlyMap<string, SegmentPayload>>
}

interface Entry {
  readonly payload: SegmentPayload
  readonly file: string
  /** Number of queries that read the file or wait for it. */
  holders: number
  ready: boolean
  fetched: Promise<void>
}

/** A file to fetch. */
interface Fetch {
  readonly needed: NeededSegment
  readonly entry: Entry
}

interface Batch {
  readonly server: DiscoveredNode | undefined
  readonly fetches: readonly Fetch[]
}

const fetchedAtOnce = 8
// Fetching small files one per request costs more than the files themselves.
const maxFilesPerBatch = 100
const batchSizeBytes = 16 * 1024 * 1024
const answerMs = 10_000

export function createFetchedFiles(options: FetchedFilesOptions): FetchedFiles {
  const { directory, maxSizeBytes, client, deepStorage, logger } = options
  // Least recently used first.
  const entries = new Map<string, Entry>()
  let usedSizeBytes = 0
  let opened: Promise<unknown> | undefined

  /** Creates an empty directory. Files from before a restart are deleted, because nothing refers to them. */
  const openDirectory = (): Promise<unknown> => {
    opened ??= rm(directory, { recursive: true, force: true }).then(() =>
      mkdir(directory, { recursive: true }),
    )
    return opened
  }

  function remove(id: string, entry: Entry): void {
    if (entries.get(id) === entry) entries.delete(id)
    usedSizeBytes -= entry.payload.size
    rm(entry.file, { force: true }).catch((error: unknown) =>
      logger.warn('Failed to delete a fetched segment file', { error: describeError(error) }),
    )
  }

  function evictFiles(neededBytes: number): void {
    for (const [id, entry] of entries) {
      if (usedSizeBytes + neededBytes <= maxSizeBytes) return
      if (entry.holders === 0 && entry.ready) remove(id, entry)
    }
    if (usedSizeBytes + neededBytes <= maxSizeBytes) return
    throw tooLarge(
      `The query must fetch segments of [${neededBytes}] bytes, but running queries already use [${usedSizeBytes}] of the [${maxSizeBytes}] bytes of [svc.query.cacheSize]`,
    )
  }

  /** Fetches files from a server that serves them. Calls `onFetched` for each complete file. */
  async function fetchFrom(
    server: DiscoveredNode,
    wanted: readonly Fetch[],
    onFetched: (one: Fetch) => void,
  ): Promise<void> {
    const body = await client.open(server.baseUrl, {
      method: 'POST',
      path: segmentFilesPath,
      body: { ids: wanted.map(({ needed }) => needed.id) },
      timeoutMs: answerMs,
    })
    let index = 0
    let output: { readonly file: FileHandle; readonly path: string; readonly hash: Hash } | undefined
    const present = (): Fetch => wanted[index] as Fetch
    const other = (): Failure =>
      unavailable(`Server [${server.name}] sent the wrong data for segment [${present().needed.id}]`)
    try {
      await takeFiles(body as AsyncIterable<Buffer>, wanted.length, {
        begin: async (sizeBytes) => {
          if (sizeBytes === undefined) {
            index += 1
            return
          }
          const { entry } = present()
          if (sizeBytes !== entry.payload.size) throw other()
          const path = `${entry.file}.${randomUUID()}`
          output = { file: await open(path, 'wx'), path, hash: createHash('sha256') }
        },
        take: async (chunk) => {
          output?.hash.update(chunk)
          await output?.file.write(chunk)
        },
        end: async () => {
          const { file, path, hash } = output as NonNullable<typeof output>
          await file.close()
          const one = present()
          if (`sha256:${hash.digest('hex')}` !== one.entry.payload.loadSpec.checksum) throw other()
          await rename(path, one.entry.file)
          output = undefined
          index += 1
          onFetched(one)
        },
      })
    } finally {
      body.destroy()
      if (output) {
        await output.file.close().catch(() => undefined)
        await rm(output.path, { force: true })
      }
    }
  }

  /** Fetches the files of a batch from its server in one request, and the files that it does not send from anywhere else. */
  async function fetchBatch({ server, fetches }: Batch, signal: AbortSignal): Promise<void> {
    await openDirectory()
    if (server !== undefined) {
      await fetchFrom(server, fetches, ({ entry }) => {
        entry.ready = true
      }).catch((error: unknown) =>
        logger.info('Failed to fetch segments from a server', {
          segments: fetches.filter(({ entry }) => !entry.ready).length,
          server: server.name,
          error: describeError(error),
        }),
      )
    }
    for (const fetch of fetches) {
      if (fetch.entry.ready) continue
      signal.throwIfAborted()
      await fetchFile(fetch, server)
      fetch.entry.ready = true
    }
  }

  /** Fetches one file. `tried` is the server that has just failed to send it. */
  async function fetchFile(fetch: Fetch, tried: DiscoveredNode | undefined): Promise<void> {
    const { needed, entry } = fetch
    const { payload, file } = entry
    if (needed.ownFile !== undefined) {
      const own = needed.ownFile
      const linked = await link(own, file)
        .catch(() => copyFile(own, file))
        .then(
          () => true,
          () => false,
        )
      if (linked) return
    }
    let last: unknown
    const others = needed.servers.filter((server) => server !== tried)
    // The server that failed may only have dropped the connection, or may serve the segment by now: try it again last.
    for (const server of [...shuffled(others), ...needed.servers.filter((one) => one === tried)]) {
      let isHere = false
      await fetchFrom(server, [fetch], () => {
        isHere = true
      }).catch((error: unknown) => {
        last = error
        logger.info('Failed to fetch a segment from a server', {
          segment: needed.id,
          server: server.name,
          error: describeError(error),
        })
      })
      if (isHere) return
    }
    if (needed.fromDeepStorage) {
      await deepStorage.fetch(payload.loadSpec, payload.size, file)
      return
    }
    throw new Failure('unavailable', `No server can send segment [${payload.identifier}]`, {}, last)
  }

  function fetchEntry(needed: NeededSegment, payload: SegmentPayload): Entry {
    const entry: Entry = {
      payload,
      file: path.join(directory, `${randomUUID()}.parquet`),
      holders: 0,
      ready: false,
      fetched: Promise.resolve(),
    }
    entries.set(needed.id, entry)
    usedSizeBytes += payload.size
    return entry
  }

  return {
    has: (segmentId) => entries.get(segmentId)?.ready ?? false,
    get usedSizeBytes() {
      return usedSizeBytes
    },
    hold: async (needed, signal) => {
      const held = new Map<string, Entry>()
      const hold = (id: string, entry: Entry): void => {
        entry.holders += 1
        held.set(id, entry)
        entries.delete(id)
        entries.set(id, entry)
      }
      const release = (): void => {
        for (const entry of held.values()) entry.holders -= 1
        held.clear()
      }
      try {
        const absent = needed.filter(({ id }) => !entries.has(id))
        const payloads =
          absent.length > 0
            ? await options.loadPayloads(absent.map(({ id }) => id))
            : new Map<string, SegmentPayload>()
        signal.throwIfAborted()
        refuseVirtual(payloads.values())
        for (const { id } of needed) {
          const entry = entries.get(id)
          if (entry) hold(id, entry)
        }
        const toFetch = needed.filter(({ id }) => !held.has(id))
        evictFiles(toFetch.reduce((sum, { id }) => sum + (payloads.get(id)?.size ?? 0), 0))
        const fetching = toFetch.map((one) => {
          const payload = payloads.get(one.id)
          if (!payload) throw notFound(`Segment [${one.id}] was deleted`)
          const entry = fetchEntry(one, payload)
          hold(one.id, entry)
          return { needed: one, entry }
        })
        const batches = inBatches(fetching)
        let next = 0
        const giveUp = ({ fetches }: Batch): void => {
          for (const { needed: one, entry } of fetches) if (!entry.ready) remove(one.id, entry)
        }
        const fetchNext = async (): Promise<void> => {
          for (;;) {
            const batch = batches[next++]
            if (!batch) return
            try {
              signal.throwIfAborted()
              await fetchBatch(batch, signal)
            } catch (error) {
              giveUp(batch)
              throw error
            }
          }
        }
        const workers = Array.from({ length: Math.min(fetchedAtOnce, batches.length) }, () => fetchNext())
        for (const { entry } of fetching) {
          entry.fetched = Promise.allSettled(workers).then(() => {
            if (!entry.ready)
              throw unavailable('Another query failed to fetch a segment that this query needs')
          })
          entry.fetched.catch(() => undefined)
        }
        await settle(workers, () => {
          for (const batch of batches.slice(next)) giveUp(batch)
          next = batches.length
        })
        // Another query may still be fetching the rest.
        await Promise.all([...held.values()].map((entry) => entry.fetched))
        signal.throwIfAborted()
      } catch (error) {
        release()
        throw error
      }
      return {
        fileOf: (id) => (held.get(id) as Entry).file,
        payloadOf: (id) => (held.get(id) as Entry).payload,
        release,
      }
    },
  }
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

/** Groups files into one request per server and up to the maximum batch size. A file without a server is its own batch. */
function inBatches(fetching: readonly Fetch[]): Batch[] {
  const batches: Batch[] = []
  const open = new Map<DiscoveredNode, { fetches: Fetch[]; sizeBytes: number }>()
  for (const [index, fetch] of fetching.entries()) {
    const { servers, ownFile } = fetch.needed
    // Round robin, so that the servers share the work.
    const server = ownFile === undefined ? servers[index % servers.length] : undefined
    if (server === undefined) {
      batches.push({ server, fetches: [fetch] })
      continue
    }
    const { size } = fetch.entry.payload
    const last = open.get(server)
    if (last && last.fetches.length < maxFilesPerBatch && last.sizeBytes + size <= batchSizeBytes) {
      last.fetches.push(fetch)
      last.sizeBytes += size
    } else {
      const batch = { server, fetches: [fetch], sizeBytes: size }
      open.set(server, batch)
      batches.push(batch)
    }
  }
  return batches
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

/** Rotates a list by a random offset, so that servers share the work. */
function shuffled<Item>(items: readonly Item[]): Item[] {
  const start = Math.floor(Math.random() * items.length)
  return [...items.slice(start), ...items.slice(0, start)]
}
