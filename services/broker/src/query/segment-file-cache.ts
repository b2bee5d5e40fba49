import { randomUUID } from 'node:crypto'
import { mkdir, rm } from 'node:fs/promises'
import path from 'node:path'
import { describeError, tooLarge } from '@svc/domain/failure'
import type { SegmentPayload } from '@svc/domain/segment'
import type { Logger } from '@svc/shared/runtime'

/** The file of a segment in the cache. */
export interface CachedFile {
  readonly payload: SegmentPayload
  readonly path: string
  /** Number of queries that read the file or wait for it. */
  holders: number
  /** Whether the file is complete. */
  ready: boolean
  /** Settles when fetching the file has ended. */
  fetched: Promise<void>
}

/** The folder of fetched files and its max size. */
export interface SegmentFileCacheOptions {
  readonly directory: string
  readonly maxSizeBytes: number
  readonly logger: Logger
}

/** Fetched segment files. Those that no query holds are evicted when room is needed, the least recently used first. */
export class SegmentFileCache {
  /** By segment id, least recently used first. */
  private readonly files = new Map<string, CachedFile>()
  private usedBytes = 0
  private opened: Promise<unknown> | undefined
  private readonly options: SegmentFileCacheOptions

  constructor(options: SegmentFileCacheOptions) {
    this.options = options
  }

  get usedSizeBytes(): number {
    return this.usedBytes
  }

  get(segmentId: string): CachedFile | undefined {
    return this.files.get(segmentId)
  }

  /** Creates an empty directory. Files from before a restart are deleted, because nothing refers to them. */
  async open(): Promise<void> {
    const { directory } = this.options
    this.opened ??= rm(directory, { recursive: true, force: true }).then(() =>
      mkdir(directory, { recursive: true }),
    )
    await this.opened
  }

  /** Reserves space for a file that is still to be fetched. */
  add(segmentId: string, payload: SegmentPayload): CachedFile {
    const file: CachedFile = {
      payload,
      path: path.join(this.options.directory, `${randomUUID()}.parquet`),
      holders: 0,
      ready: false,
      fetched: Promise.resolve(),
    }
    this.files.set(segmentId, file)
    this.usedBytes += payload.size
    return file
  }

  /** Keeps a file for one more query, and makes it the most recently used one. */
  hold(segmentId: string, file: CachedFile): void {
    file.holders += 1
    this.files.delete(segmentId)
    this.files.set(segmentId, file)
  }

  remove(segmentId: string, file: CachedFile): void {
    if (this.files.get(segmentId) === file) this.files.delete(segmentId)
    this.usedBytes -= file.payload.size
    rm(file.path, { force: true }).catch((error: unknown) =>
      this.options.logger.warn('Failed to delete a fetched segment file', { error: describeError(error) }),
    )
  }

  /** Evicts files until this many bytes fit. Throws tooLarge if running queries hold too much. */
  makeRoom(neededBytes: number): void {
    const { maxSizeBytes } = this.options
    const fits = (): boolean => this.usedBytes + neededBytes <= maxSizeBytes
    for (const [id, file] of this.files) {
      if (fits()) return
      if (file.holders === 0 && file.ready) this.remove(id, file)
    }
    if (fits()) return
    throw tooLarge(
      `The query must fetch [${neededBytes}] bytes of segments, but running queries already use [${this.usedBytes}] of the [${maxSizeBytes}] bytes that [svc.query.cacheSize] allows`,
    )
  }
}
