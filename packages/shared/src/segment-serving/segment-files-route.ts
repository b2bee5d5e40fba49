import { once } from 'node:events'
import { type FileHandle, open } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { pipeline } from 'node:stream/promises'
import { unavailable } from '@svc/domain/failure'
import { readFields, readList, readText } from '@svc/domain/validation'
import { errorCode } from '../deep-storage/index.ts'
import { internal, jsonBody, type Route, route, streamed, textAnswer } from '../http/index.ts'
import type { DataServer } from './data-server.ts'

/** The path on a data server from which the Parquet files of served segments are fetched. */
export const segmentFilesPath = '/svc-internal/v1/segments/files'

// Max segments per request.
const maxFilesPerRequest = 1000

const readRequest = readFields({ ids: readList(readText, { min: 1, max: maxFilesPerRequest, item: 'ID' }) })

// Each file follows its size, a big-endian 64-bit integer; `absent` marks a file that is not served.
const sizeLength = 8
const absent = 2n ** 64n - 1n
// Files up to this size are read in one go.
const readAtOnceBytes = 1024 * 1024

/**
 * The endpoint from which brokers fetch segment files: many segments per response, in the order of the request.
 */
export function segmentFilesRoute(server: DataServer): Route {
  return route({
    method: 'POST',
    path: segmentFilesPath,
    access: internal,
    summary: 'Fetch the Parquet files of served segments in a single response',
    body: jsonBody(readRequest),
    answers: [textAnswer('application/octet-stream')],
    handle: async ({ body: { ids }, response }) => {
      response.writeHead(200, { 'Content-Type': 'application/octet-stream' })
      for (const id of ids) {
        if (response.destroyed) break
        await sendFile(server.fileOf(id), response)
      }
      response.end()
      return streamed
    },
  })
}

async function sendFile(path: string | undefined, response: ServerResponse): Promise<void> {
  // An open file stays readable, even if the segment is dropped in the meantime.
  const file = path === undefined ? undefined : await openPresent(path)
  if (file === undefined) return await write(response, sizeBytes(absent))
  try {
    const { size } = await file.stat()
    if (size <= readAtOnceBytes)
      return await write(response, Buffer.concat([sizeBytes(BigInt(size)), await file.readFile()]))
    await write(response, sizeBytes(BigInt(size)))
    await pipeline(file.createReadStream({ autoClose: false, end: size - 1 }), response, { end: false })
  } finally {
    await file.close()
  }
}

const openPresent = (path: string): Promise<FileHandle | undefined> =>
  open(path, 'r').catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT') return undefined
    throw error
  })

async function write(response: ServerResponse, data: Buffer): Promise<void> {
  if (response.write(data) || response.destroyed) return
  await Promise.race([once(response, 'drain'), once(response, 'close')])
}

function sizeBytes(size: bigint): Buffer {
  const buffer = Buffer.alloc(sizeLength)
  buffer.writeBigUInt64BE(size)
  return buffer
}

/** Receives the files of a response, one after the other. */
export interface FileTaker {
  /** A file of this size starts; undefined if the server does not (or no longer) serve the segment. */
  begin(sizeBytes: number | undefined): Promise<void>
  take(chunk: Buffer): Promise<void>
  /** The file is complete. */
  end(): Promise<void>
}

/** Reads a response of `count` files. Throws an unavailable Failure if it ends early. */
export async function takeFiles(body: AsyncIterable<Buffer>, count: number, taker: FileTaker): Promise<void> {
  let taken = 0
  let head = Buffer.alloc(0)
  // Bytes of the current file still to come; undefined between two files.
  let left: number | undefined
  const endIfComplete = async (): Promise<void> => {
    if (left !== 0) return
    await taker.end()
    left = undefined
    taken += 1
  }
  for await (const chunk of body) {
    for (let at = 0; at < chunk.length; ) {
      if (left === undefined) {
        const part = chunk.subarray(at, at + sizeLength - head.length)
        at += part.length
        head = Buffer.concat([head, part])
        if (head.length < sizeLength) break
        const size = head.readBigUInt64BE()
        head = Buffer.alloc(0)
        if (size === absent) {
          await taker.begin(undefined)
          taken += 1
          continue
        }
        left = Number(size)
        await taker.begin(left)
      } else {
        const part = chunk.subarray(at, at + left)
        at += part.length
        left -= part.length
        await taker.take(part)
      }
      await endIfComplete()
    }
  }
  if (taken < count) throw unavailable(`The response ended after [${taken}] of [${count}] files`)
}
