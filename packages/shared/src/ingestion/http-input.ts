import { createReadStream, createWriteStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { Readable, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createZstdDecompress } from 'node:zlib'
import { Failure, invalidInput, tooLarge, unavailable } from '@svc/domain/failure'
import type { Settings } from '../config/index.ts'
import { errorCode, storageFailure } from '../deep-storage/index.ts'
import { isAllowedUri, sourceField } from './input-access.ts'

/** Limits of what one task may read over HTTP. */
export interface HttpInputLimits {
  /** Time after which a source that sends nothing is abandoned. */
  readonly idleTimeoutMs: number
  /** Max time for all files of a task together. */
  readonly timeoutMs: number
  /** A source that sends less than this on average, over the idle timeout, is abandoned. */
  readonly minBytesPerSecond: number
  /** Max size of all files of a task together, as sent. */
  readonly maxBytes: number
  /** Max size of all compressed files of a task together, after decompression. */
  readonly maxDecompressedBytes: number
}

/** Returns the limits that a server's properties set for its tasks. */
export const httpInputLimitsOf = (settings: Settings): HttpInputLimits => ({
  idleTimeoutMs: settings.get('svc.ingestion.http.idleTimeout'),
  timeoutMs: settings.get('svc.ingestion.http.timeout'),
  minBytesPerSecond: settings.get('svc.ingestion.http.minBytesPerSecond'),
  maxBytes: settings.get('svc.ingestion.http.maxSize'),
  maxDecompressedBytes: settings.get('svc.ingestion.http.maxDecompressedSize'),
})

const maxRedirects = 5
const redirects = new Set([301, 302, 303, 307, 308])

// Max compression ratio of gzip: files that stay below the limit even at this ratio are not decompressed to measure
// them.
const maxGzipRatio = 1032

/** Downloads the files of one task; the limits apply to all of them together. */
export class HttpInput {
  private readonly allowedHosts: readonly string[]
  private readonly limits: HttpInputLimits
  private readonly startedAtMs = performance.now()
  private receivedBytes = 0
  private decompressedBytes = 0

  constructor(allowedHosts: readonly string[], limits: HttpInputLimits) {
    this.allowedHosts = allowedHosts
    this.limits = limits
  }

  /**
   * Downloads one file. Throws a Failure that names the URI without its query: invalidInput for a rejected address,
   * tooLarge for too many bytes, unavailable for a source that does not respond, sends too slowly, or takes too long.
   */
  async download(uri: string, file: string, signal: AbortSignal | undefined): Promise<void> {
    const title = titleOf(uri)
    const watch = new TransferWatch(title, this.limits, this.startedAtMs)
    const signals = AbortSignal.any([watch.signal, ...(signal ? [signal] : [])])
    try {
      const response = await request(uri, this.allowedHosts, signals)
      const declaredBytes = Number(response.headers.get('content-length') ?? 0)
      this.checkSize(title, this.receivedBytes + declaredBytes)
      const body = response.body === null ? Readable.from([]) : Readable.fromWeb(response.body)
      await pipeline(
        body,
        (chunks: AsyncIterable<Buffer>) => this.counted(title, chunks, watch),
        createWriteStream(file),
        {
          signal: signals,
        },
      )
    } catch (error) {
      // Streams and requests wrap the failure of the watch or of the task; throw the original one.
      signals.throwIfAborted()
      throw storageFailure(`Failed to read URI [${title}]`, file, error)
    } finally {
      watch.stop()
    }
    await this.checkDecompressed(title, file, signal)
  }

  private async *counted(
    title: string,
    chunks: AsyncIterable<Buffer>,
    watch: TransferWatch,
  ): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      watch.noteBytes(chunk.length)
      this.receivedBytes += chunk.length
      this.checkSize(title, this.receivedBytes)
      yield chunk
    }
  }

  private checkSize(title: string, bytes: number): void {
    const { maxBytes } = this.limits
    if (bytes <= maxBytes) return
    throw tooLarge(
      `The input files are too large: at URI [${title}], the total size of this task's files exceeds [${maxBytes}] bytes, the limit set by [svc.ingestion.http.maxSize]`,
    )
  }

  private async checkDecompressed(
    title: string,
    file: string,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const { maxDecompressedBytes } = this.limits
    const isGzip = file.endsWith('.gz')
    if (!isGzip && !file.endsWith('.zst')) return
    const { size } = await stat(file)
    if (isGzip && this.decompressedBytes + size * maxGzipRatio <= maxDecompressedBytes) {
      this.decompressedBytes += size * maxGzipRatio
      return
    }
    const count = new Writable({
      write: (chunk: Buffer, _, done) => {
        this.decompressedBytes += chunk.length
        done(
          this.decompressedBytes <= maxDecompressedBytes
            ? null
            : tooLarge(
                `The input files are too large: at URI [${title}], the total decompressed size of this task's compressed files exceeds [${maxDecompressedBytes}] bytes, the limit set by [svc.ingestion.http.maxDecompressedSize]`,
              ),
        )
      },
    })
    try {
      const decompressed = isGzip ? createGunzip() : createZstdDecompress()
      await pipeline(createReadStream(file), decompressed, count, signal ? { signal } : {})
    } catch (error) {
      signal?.throwIfAborted()
      if (error instanceof Failure) throw error
      // The reader reports a damaged file with the location of the damage.
    }
  }
}

/** Aborts the transfer of a source that stops sending, sends too slowly, or takes too long. */
class TransferWatch {
  private readonly controller = new AbortController()
  private readonly timers: NodeJS.Timeout[]
  private readonly idle: NodeJS.Timeout
  private bytesInWindow = 0

  constructor(title: string, limits: HttpInputLimits, startedAtMs: number) {
    const { idleTimeoutMs, timeoutMs, minBytesPerSecond } = limits
    const abandon = (problem: string): void =>
      this.controller.abort(unavailable(`Abandoned the download of URI [${title}]: ${problem}`))
    const seconds = (ms: number): string => `[${ms / 1000}] seconds`
    this.idle = setTimeout(
      () =>
        abandon(`the server sent nothing for ${seconds(idleTimeoutMs)} ([svc.ingestion.http.idleTimeout])`),
      idleTimeoutMs,
    )
    const slow = setInterval(() => {
      const bytesPerSecond = Math.floor((this.bytesInWindow * 1000) / idleTimeoutMs)
      this.bytesInWindow = 0
      if (bytesPerSecond < minBytesPerSecond) {
        abandon(
          `the server sent [${bytesPerSecond}] bytes per second, less than the minimum of [${minBytesPerSecond}] ([svc.ingestion.http.minBytesPerSecond])`,
        )
      }
    }, idleTimeoutMs)
    const total = setTimeout(
      () =>
        abandon(
          `the task's downloads took longer than ${seconds(timeoutMs)} in total ([svc.ingestion.http.timeout])`,
        ),
      Math.max(0, timeoutMs - (performance.now() - startedAtMs)),
    )
    this.timers = [this.idle, slow, total]
  }

  get signal(): AbortSignal {
    return this.controller.signal
  }

  noteBytes(count: number): void {
    this.bytesInWindow += count
    this.idle.refresh()
  }

  stop(): void {
    for (const timer of this.timers) clearTimeout(timer)
  }
}

/** Returns the URI without its query and credentials, which may be secret. */
export function titleOf(uri: string): string {
  const { origin, pathname } = new URL(uri)
  return origin + pathname
}

async function request(uri: string, allowedHosts: readonly string[], signal: AbortSignal): Promise<Response> {
  let at = uri
  for (let hop = 0; hop <= maxRedirects; hop++) {
    if (!isAllowedUri(at, allowedHosts)) {
      throw invalidInput(
        `URI [${titleOf(uri)}] redirects to host [${new URL(at).host}], which is not in [svc.ingestion.http.allowedHosts]`,
        { field: `${sourceField}.uris` },
      )
    }
    let response: Response
    try {
      response = await fetch(at, { redirect: 'manual', signal })
    } catch (error) {
      const cause = error instanceof Error && error.cause !== undefined ? error.cause : error
      throw unavailable(`Failed to read URI [${titleOf(at)}]: ${errorCode(cause)}`, {}, error)
    }
    if (response.ok) return response
    await response.body?.cancel()
    const location = response.headers.get('location')
    if (redirects.has(response.status) && location !== null && URL.canParse(location, at)) {
      at = new URL(location, at).href
    } else if (response.status >= 500 || response.status === 429) {
      throw unavailable(`URI [${titleOf(at)}] returned status [${response.status}]`)
    } else {
      throw invalidInput(`URI [${titleOf(at)}] returned status [${response.status}]`, {
        field: `${sourceField}.uris`,
      })
    }
  }
  throw invalidInput(`URI [${titleOf(uri)}] redirects more than [${maxRedirects}] times`, {
    field: `${sourceField}.uris`,
  })
}
