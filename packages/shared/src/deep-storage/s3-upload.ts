import { createHash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import type { FileChecksum } from './file-checksum.ts'
import type { S3Requests } from './open-s3.ts'
import { isMissingObject } from './s3-errors.ts'

/** An object of S3. */
export interface S3Object {
  readonly Bucket: string
  readonly Key: string
}

// A request is repeated with the same bytes, so they are kept in memory: at most `partsAtOnce` parts for each upload.
const minPartBytes = 8 << 20
const partsAtOnce = 3
const maxParts = 10_000
// Parts of an upload whose writer was killed are invisible, but take up space until they are removed.
const abandonedAfterMs = 24 * 3_600_000

/** Reads a local file, and maps what fails there to the error to throw. */
export interface LocalSource {
  readonly file: FileHandle
  unreadable(error: unknown): unknown
}

/**
 * Uploads a file as one object, which appears complete or not at all. Large files are sent in parts. Throws the errors of
 * `S3Requests.request` and of the source.
 */
export async function uploadFile(
  s3: S3Requests,
  object: S3Object,
  source: LocalSource,
): Promise<FileChecksum> {
  const { size } = await source.file.stat()
  const hash = createHash('sha256')
  const partBytes = Math.max(minPartBytes, Math.ceil(size / maxParts))
  const first = await readPart(source, partBytes)
  hash.update(first)
  let sizeBytes = first.length
  if (first.length < partBytes) {
    await s3.request((sdk, client) => client.send(new sdk.PutObjectCommand({ ...object, Body: first })))
  } else {
    await uploadParts(s3, object, first, async () => {
      const part = await readPart(source, partBytes)
      hash.update(part)
      sizeBytes += part.length
      return part
    })
  }
  return { sizeBytes, checksum: `sha256:${hash.digest('hex')}` }
}

async function readPart({ file, unreadable }: LocalSource, partBytes: number): Promise<Buffer> {
  const part = Buffer.allocUnsafe(Math.min(partBytes, Math.max((await file.stat()).size, 1)))
  let length = 0
  try {
    while (length < part.length) {
      const { bytesRead } = await file.read(part, length, part.length - length, null)
      if (bytesRead === 0) break
      length += bytesRead
    }
  } catch (error) {
    throw unreadable(error)
  }
  return part.subarray(0, length)
}

async function uploadParts(
  s3: S3Requests,
  object: S3Object,
  first: Buffer,
  nextPart: () => Promise<Buffer>,
): Promise<void> {
  const { UploadId } = await s3.request((sdk, client) =>
    client.send(new sdk.CreateMultipartUploadCommand(object)),
  )
  const upload = { ...object, UploadId }
  const parts: Promise<{ PartNumber: number; ETag: string | undefined }>[] = []
  try {
    for (let part = first; part.length > 0; part = await nextPart()) {
      const PartNumber = parts.length + 1
      const sent = s3
        .request((sdk, client) =>
          client.send(new sdk.UploadPartCommand({ ...upload, PartNumber, Body: part })),
        )
        .then(({ ETag }) => ({ PartNumber, ETag }))
      // Awaited below.
      sent.catch(() => {})
      parts.push(sent)
      await parts[parts.length - partsAtOnce]
    }
    const Parts = await Promise.all(parts)
    await complete(s3, object, UploadId, Parts)
  } catch (error) {
    await Promise.allSettled(parts)
    await s3
      .request((sdk, client) => client.send(new sdk.AbortMultipartUploadCommand(upload)))
      .catch(() => undefined)
    throw error
  }
}

/** Completes an upload. If the answer of a completed upload was lost, the upload no longer exists, but the object does. */
async function complete(
  s3: S3Requests,
  object: S3Object,
  UploadId: string | undefined,
  Parts: { PartNumber: number; ETag: string | undefined }[],
): Promise<void> {
  let isRetry = false
  await s3.request(async (sdk, client) => {
    try {
      const MultipartUpload = { Parts }
      await client.send(new sdk.CompleteMultipartUploadCommand({ ...object, UploadId, MultipartUpload }))
    } catch (error) {
      if (!isRetry || !isMissingObject(error)) {
        isRetry = true
        throw error
      }
      await client.send(new sdk.HeadObjectCommand(object))
    }
  })
}

/** Removes the parts of uploads that were started long ago and never completed. */
export async function removeAbandonedUploads(s3: S3Requests, Bucket: string, Prefix: string): Promise<void> {
  const { Uploads = [] } = await s3.request((sdk, client) =>
    client.send(new sdk.ListMultipartUploadsCommand({ Bucket, Prefix })),
  )
  for (const { Key, UploadId, Initiated } of Uploads) {
    if (Initiated === undefined || Date.now() - Initiated.getTime() < abandonedAfterMs) continue
    await s3.request((sdk, client) =>
      client.send(new sdk.AbortMultipartUploadCommand({ Bucket, Key, UploadId })),
    )
  }
}
