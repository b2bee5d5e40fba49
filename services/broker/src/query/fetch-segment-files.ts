import { createHash, type Hash, randomUUID } from 'node:crypto'
import { copyFile, type FileHandle, link, open, rename, rm } from 'node:fs/promises'
import { describeError, Failure, unavailable } from '@svc/domain/failure'
import type { ServiceClient } from '@svc/shared/client'
import type { DeepStorage } from '@svc/shared/deep-storage'
import type { DiscoveredNode } from '@svc/shared/discovery'
import type { Logger } from '@svc/shared/runtime'
import { type FileTaker, segmentFilesPath, takeFiles } from '@svc/shared/segment-serving'
import type { CachedFile } from './segment-file-cache.ts'

/** A segment whose file is needed, and where to fetch it from. */
export interface NeededSegment {
  readonly id: string
  /** The servers that serve it. */
  readonly servers: readonly DiscoveredNode[]
  /** The file in this server's own segment cache. */
  readonly ownFile: string | undefined
  readonly fromDeepStorage: boolean
}

/** A file to fetch. */
export interface Fetch {
  readonly needed: NeededSegment
  readonly file: CachedFile
}

/** Files that are fetched together. */
export interface Batch {
  /** Serves all of them; undefined for a file that no server serves or that is in this server's own segment cache. */
  readonly server: DiscoveredNode | undefined
  readonly fetches: readonly Fetch[]
}

/** Where files are fetched from. */
export interface FetchSources {
  readonly client: ServiceClient
  readonly deepStorage: DeepStorage
  readonly logger: Logger
}

// Fetching small files one per request costs more than the files themselves.
const maxFilesPerBatch = 100
const batchSizeBytes = 16 * 1024 * 1024
const answerMs = 10_000

/** Groups files into one request per server and up to the maximum batch size. A file without a server is its own batch. */
export function inBatches(fetching: readonly Fetch[]): Batch[] {
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
    const { size } = fetch.file.payload
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

/** Fetches the files of a batch from its server in one request, and the files that it does not send from anywhere else. */
export async function fetchBatch(
  sources: FetchSources,
  { server, fetches }: Batch,
  signal: AbortSignal,
): Promise<void> {
  if (server !== undefined) {
    await fetchFrom(sources.client, server, fetches).catch((error: unknown) =>
      sources.logger.info('Failed to fetch segments from a server', {
        segments: fetches.filter(({ file }) => !file.ready).length,
        server: server.name,
        error: describeError(error),
      }),
    )
  }
  for (const fetch of fetches) {
    if (fetch.file.ready) continue
    signal.throwIfAborted()
    await fetchFile(sources, fetch, server)
    fetch.file.ready = true
  }
}

/** Fetches one file. `tried` is the server that has just failed to send it. */
async function fetchFile(
  { client, deepStorage, logger }: FetchSources,
  fetch: Fetch,
  tried: DiscoveredNode | undefined,
): Promise<void> {
  const { needed, file } = fetch
  const { payload, path } = file
  if (needed.ownFile !== undefined && (await linkOrCopy(needed.ownFile, path))) return
  let last: unknown
  const others = needed.servers.filter((server) => server !== tried)
  // The server that failed may only have dropped the connection, or may serve the segment by now: try it again last.
  for (const server of [...shuffled(others), ...needed.servers.filter((one) => one === tried)]) {
    await fetchFrom(client, server, [fetch]).catch((error: unknown) => {
      last = error
      logger.info('Failed to fetch a segment from a server', {
        segment: needed.id,
        server: server.name,
        error: describeError(error),
      })
    })
    if (file.ready) return
  }
  if (needed.fromDeepStorage) {
    await deepStorage.fetch(payload.loadSpec, payload.size, path)
    return
  }
  throw new Failure('unavailable', `Failed to get segment [${payload.identifier}] from any server`, {}, last)
}

/** Returns whether the file could be linked or copied. */
async function linkOrCopy(from: string, to: string): Promise<boolean> {
  return await link(from, to)
    .catch(() => copyFile(from, to))
    .then(
      () => true,
      () => false,
    )
}

/** Fetches files from a server that serves them. Marks each complete file as ready. */
async function fetchFrom(
  client: ServiceClient,
  server: DiscoveredNode,
  wanted: readonly Fetch[],
): Promise<void> {
  const body = await client.open(server.baseUrl, {
    method: 'POST',
    path: segmentFilesPath,
    body: { ids: wanted.map(({ needed }) => needed.id) },
    timeoutMs: answerMs,
  })
  const writer = createWriter(server, wanted)
  try {
    await takeFiles(body as AsyncIterable<Buffer>, wanted.length, writer)
  } finally {
    body.destroy()
    await writer.discardIncomplete()
  }
}

/** Writes and verifies the files of a response, in the order of the request. A rename makes each complete file visible. */
function createWriter(
  server: DiscoveredNode,
  wanted: readonly Fetch[],
): FileTaker & { discardIncomplete(): Promise<void> } {
  let index = 0
  let output: { readonly handle: FileHandle; readonly path: string; readonly hash: Hash } | undefined
  const present = (): Fetch => wanted[index] as Fetch
  const wrongData = (): Failure =>
    unavailable(`Server [${server.name}] sent the wrong data for segment [${present().needed.id}]`)
  return {
    begin: async (sizeBytes) => {
      if (sizeBytes === undefined) {
        index += 1
        return
      }
      const { file } = present()
      if (sizeBytes !== file.payload.size) throw wrongData()
      const path = `${file.path}.${randomUUID()}`
      output = { handle: await open(path, 'wx'), path, hash: createHash('sha256') }
    },
    take: async (chunk) => {
      output?.hash.update(chunk)
      await output?.handle.write(chunk)
    },
    end: async () => {
      const { handle, path, hash } = output as NonNullable<typeof output>
      await handle.close()
      const { file } = present()
      if (`sha256:${hash.digest('hex')}` !== file.payload.loadSpec.checksum) throw wrongData()
      await rename(path, file.path)
      output = undefined
      index += 1
      file.ready = true
    },
    discardIncomplete: async () => {
      if (!output) return
      await output.handle.close().catch(() => undefined)
      await rm(output.path, { force: true })
    },
  }
}

/** Rotates a list by a random offset, so that servers share the work. */
function shuffled<Item>(items: readonly Item[]): Item[] {
  const start = Math.floor(Math.random() * items.length)
  return [...items.slice(start), ...items.slice(0, start)]
}
