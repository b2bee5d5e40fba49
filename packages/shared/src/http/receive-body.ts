import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createZstdDecompress,
} from 'node:zlib'
import { Failure, invalidInput, unsupportedMediaType } from '@svc/domain/failure'

// Time for a body to arrive. Each received byte extends it, so that a slow connection is not mistaken for a stalled
// one.
const graceMs = 10_000
const minBytesPerSecond = 32 * 1024
// RFC 9659: a larger window is not allowed for content that is sent over HTTP.
const maxZstdWindowLog = 23
type Decompressor = ReturnType<typeof createGunzip>
const decompressors: Readonly<Record<string, () => Decompressor>> = {
  gzip: () => createGunzip(),
  deflate: () => createInflate(),
  br: () => createBrotliDecompress(),
  zstd: () => createZstdDecompress({ params: { [constants.ZSTD_d_windowLogMax]: maxZstdWindowLog } }),
}

/** Returns whether a request has a body. */
export const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length']) > 0

/** Returns the length of the body in bytes; undefined if it is not known or the body is compressed. */
export function knownLength({ headers }: IncomingMessage): number | undefined {
  if (headers['content-length'] === undefined || encodingOf(headers) !== 'identity') return undefined
  return Number(headers['content-length'])
}

const encodingOf = (headers: IncomingMessage['headers']): string =>
  (headers['content-encoding'] ?? 'identity').trim().toLowerCase()

/**
 * Reads and decompresses the body of a request. Passes each chunk to `take` and waits for its promise before the next
 * one; an error of `take` stops the reading. Throws `requestTimedOut` for a body that arrives too slowly; the time that
 * `take` waits does not count. The connection remains usable for the response in all cases.
 */
export async function receiveBody(
  request: IncomingMessage,
  take: (chunk: Buffer) => Promise<void> | undefined,
): Promise<void> {
  const encoding = encodingOf(request.headers)
  const decompressor = encoding === 'identity' ? undefined : createDecompressor(encoding)
  const source: Readable = decompressor ?? request
  const pace = createPace()
  const countBytes = (chunk: Buffer) => pace.received(chunk.length)
  await new Promise<void>((resolve, reject) => {
    const end = (settle: () => void) => {
      pace.stop()
      request.off('data', countBytes).off('error', fail).off('aborted', abort)
      source.off('data', takeChunk).off('end', finish).off('error', refuse)
      if (decompressor) {
        request.unpipe(decompressor)
        // It may still report an error while it is destroyed.
        decompressor.on('error', () => undefined).destroy()
      }
      settle()
    }
    const fail = (error: unknown) => end(() => reject(error))
    const finish = () => end(resolve)
    const abort = () => fail(invalidInput('The request ended before its body was complete'))
    const refuse = (error: Error) => fail(decompressor ? badCompression() : error)
    const takeChunk = (chunk: Buffer) => {
      try {
        const waits = take(chunk)
        if (waits === undefined) return
        source.pause()
        pace.pause()
        waits.then(() => {
          pace.resume()
          source.resume()
        }, fail)
      } catch (error) {
        fail(error)
      }
    }
    pace.start(() => fail(new Failure('requestTimedOut', 'The request body arrived too slowly')))
    request.on('data', countBytes).on('error', fail).on('aborted', abort)
    source.on('data', takeChunk).on('end', finish).on('error', refuse)
    if (decompressor) request.pipe(decompressor)
  })
}

const badCompression = () => invalidInput('The body does not match the header [Content-Encoding]')

function createDecompressor(encoding: string): Decompressor {
  const create = Object.hasOwn(decompressors, encoding) ? decompressors[encoding] : undefined
  if (!create) throw unreadableEncoding()
  return create()
}

/** Returns the failure for a body in an unsupported encoding or charset. */
export const unreadableEncoding = () =>
  unsupportedMediaType(
    'Unsupported encoding of the body: expected UTF-8, uncompressed or compressed with gzip, deflate, br, or zstd',
  )

/** Detects bytes that arrive too slowly. */
export function createPace() {
  let allowedMs = graceMs
  let startedAtMs = performance.now()
  let pausedAtMs: number | undefined
  let timer: NodeJS.Timeout | undefined
  const check = (onSlow: () => void) => {
    const leftMs = pausedAtMs === undefined ? allowedMs - (performance.now() - startedAtMs) : graceMs
    if (leftMs <= 0) onSlow()
    else timer = setTimeout(check, Math.ceil(leftMs), onSlow)
  }
  return {
    /** Calls `onSlow` once if bytes arrive too slowly. */
    start(onSlow: () => void): void {
      check(onSlow)
    },
    received(bytes: number): void {
      allowedMs += (bytes / minBytesPerSecond) * 1000
    },
    pause(): void {
      pausedAtMs = performance.now()
    },
    resume(): void {
      if (pausedAtMs !== undefined) startedAtMs += performance.now() - pausedAtMs
      pausedAtMs = undefined
    },
    stop(): void {
      clearTimeout(timer)
    },
  }
}
