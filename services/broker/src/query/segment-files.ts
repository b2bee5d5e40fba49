import { createHash, randomUUID } from 'node:crypto'
import { copyFile, link, mkdir, open, rename, rm } from 'node:fs/promises'
import path from 'node:path'
import { describeError, Failure, notFound, tooLarge, unavailable } from '@svc/domain/failure'
import type { SegmentPayload } from '@svc/domain/segment'
import type { ServiceClient } from '@svc/shared/client'
import { segmentFilePath } from '@svc/shared/data-server'
import type { DeepStorage } from '@svc/shared/deep-storage'
import type { DiscoveredNode } from '@svc/shared/discovery'
import type { Logger } from '@svc/shared/runtime'

/** A segment whose file is needed, and where it can be had. */
export interface NeededSegment {
  readonly id: string
  /** The servers that serve it. */
  readonly servers: readonly DiscoveredNode[]
  /** The file in this server's own segment cache. */
  readonly ownFile: string | undefined
  readonly fromDeepStorage: boolean
}

/** Files that stay until they are released. */
export interface HeldFiles {
  fileOf(segmentId: string): string
  payloadOf(segmentId: string): SegmentPayload
  release(): void
}

/** The Parquet files that queries read: fetched when they are needed, kept while there is room. */
export interface SegmentFiles {
  /** Whether a segment's file is here. */
  has(segmentId: string): boolean
  /**
   * Brings all files here. Failures: tooLarge (they do not fit together), unavailable (one cannot be had from where it
   * should be), or the signal's reason.
   */
  hold(needed: readonly NeededSegment[], signal: AbortSignal): Promise<HeldFiles>
  readonly usedSizeBytes: number
}

export interface SegmentFilesOptions {
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
  /** Queries that read it or wait for it. */
  holders: number
  ready: boolean
  fetched: Promise<void>
}

const fetchedAtOnce = 16
const answerMs = 10_000

export function createSegmentFiles(options: SegmentFilesOptions): SegmentFiles {
  const { directory, maxSizeBytes, client, deepStorage, logger } = options
  // In the order of their last use.
  const entries = new Map<string, Entry>()
  let usedSizeBytes = 0
  let opened: Promise<unknown> | undefined

  /** What an earlier life left is not known any more. */
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
      logger.warn('A fetched segment could not be removed', { error: describeError(error) }),
    )
  }

  function makeRoom(neededBytes: number): void {
    for (const [id, entry] of entries) {
      if (usedSizeBytes + neededBytes <= maxSizeBytes) return
      if (entry.holders === 0 && entry.ready) remove(id, entry)
    }
    if (usedSizeBytes + neededBytes <= maxSizeBytes) return
    throw tooLarge(
      `The query needs segments of [${neededBytes}] bytes that are not here, beside [${usedSizeBytes}] bytes that queries hold; [svc.query.cacheSize] allows [${maxSizeBytes}]`,
    )
  }

  async function fetchFrom(server: DiscoveredNode, payload: SegmentPayload, target: string): Promise<void> {
    const body = await client.open(server.baseUrl, {
      method: 'GET',
      path: segmentFilePath(payload.identifier),
      timeoutMs: answerMs,
    })
    const output = await open(target, 'wx').catch((error: unknown) => {
      body.destroy()
      throw error
    })
    const hash = createHash('sha256')
    let sizeBytes = 0
    try {
      for await (const chunk of body as AsyncIterable<Buffer>) {
        sizeBytes += chunk.length
        if (sizeBytes > payload.size) break
        hash.update(chunk)
        await output.write(chunk)
      }
    } finally {
      await output.close()
    }
    if (sizeBytes !== payload.size || `sha256:${hash.digest('hex')}` !== payload.loadSpec.checksum) {
      throw unavailable(
        `Server [${server.name}] sent other bytes than those of segment[${payload.identifier}]`,
      )
    }
  }

  async function bring(needed: NeededSegment, { payload, file }: Entry): Promise<void> {
    await openDirectory()
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
    for (const server of shuffled(needed.servers)) {
      const incoming = `${file}.${randomUUID()}`
      try {
        await fetchFrom(server, payload, incoming)
        await rename(incoming, file)
        return
      } catch (error) {
        last = error
        await rm(incoming, { force: true })
        logger.info('A segment could not be fetched from a server', {
          segment: payload.identifier,
          server: server.name,
          error: describeError(error),
        })
      }
    }
    if (needed.fromDeepStorage) {
      await deepStorage.fetch(payload.loadSpec, payload.size, file)
      return
    }
    throw new Failure('unavailable', `Segment[${payload.identifier}] can be had from no server`, {}, last)
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
          absent.length > 0 ? await options.loadPayloads(absent.map(({ id }) => id)) : new Map()
        signal.throwIfAborted()
        for (const { id } of needed) {
          const entry = entries.get(id)
          if (entry) hold(id, entry)
        }
        const toFetch = needed.filter(({ id }) => !held.has(id))
        makeRoom(toFetch.reduce((sum, { id }) => sum + ((payloads.get(id) as SegmentPayload)?.size ?? 0), 0))
        const fetching = toFetch.map((one) => {
          const payload = payloads.get(one.id) as SegmentPayload | undefined
          if (!payload) throw notFound(`Segment[${one.id}] has been erased`)
          const entry = fetchEntry(one, payload)
          hold(one.id, entry)
          return { one, entry }
        })
        let next = 0
        const fetchNext = async (): Promise<void> => {
          for (;;) {
            const current = fetching[next++]
            if (!current) return
            const { one, entry } = current
            try {
              signal.throwIfAborted()
              await bring(one, entry)
              entry.ready = true
            } catch (error) {
              remove(one.id, entry)
              throw error
            }
          }
        }
        const workers = Array.from({ length: Math.min(fetchedAtOnce, fetching.length) }, () => fetchNext())
        for (const { entry } of fetching) {
          entry.fetched = Promise.allSettled(workers).then(() => {
            if (!entry.ready) throw unavailable('A segment that another query fetched did not come')
          })
          entry.fetched.catch(() => undefined)
        }
        await settle(workers, () => {
          for (const { one, entry } of fetching.slice(next)) remove(one.id, entry)
          next = fetching.length
        })
        // Others may be on their way for another query.
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

/** Waits for all workers; the first failure is thrown after `onFailure` and after the others have ended. */
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

/** The servers in another order each time, so that they share the work. */
function shuffled<Item>(items: readonly Item[]): Item[] {
  const start = Math.floor(Math.random() * items.length)
  return [...items.slice(start), ...items.slice(0, start)]
}
