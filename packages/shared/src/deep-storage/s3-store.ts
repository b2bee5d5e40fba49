import { createHash } from 'node:crypto'
import { type FileHandle, open } from 'node:fs/promises'
import { Readable } from 'node:stream'
import type { ListObjectsV2CommandOutput } from '@aws-sdk/client-s3'
import { type Failure, notFound } from '@svc/domain/failure'
import type { FileChecksum } from './file-checksum.ts'
import type { FileStore, GetOptions, ListedFile, StoredFile } from './file-store.ts'
import { openS3, type S3Connection, type S3Requests } from './open-s3.ts'
import { assertUndamaged, receiveFile, unreadableFile, unwritableFile } from './receive-file.ts'
import { isBehindEnd, isMissingObject, s3Failure } from './s3-errors.ts'
import { removeAbandonedUploads, uploadFile } from './s3-upload.ts'
import { partsOfPath } from './stored-path.ts'

/** Where a store is in S3. */
export interface S3Place {
  readonly bucket: string
  /** The prefix of the keys of all objects, without leading and trailing slashes; empty for the entire bucket. */
  readonly baseKey: string
  readonly connection: S3Connection
}

/** A store in S3, and its name in messages. */
interface Place extends Pick<S3Place, 'bucket'> {
  readonly s3: S3Requests
  readonly title: string
  readonly location: string
  /** The store in messages. */
  readonly named: string
  /** What all keys start with: the base key and a slash, or nothing. */
  readonly prefix: string
}

const keyOf = ({ prefix }: Place, path: string): string => prefix + partsOfPath(path).join('/')

const removedAtOnce = 8

/** Creates a store of files in S3. Nothing is contacted before the first operation. */
export function createS3Store({
  title,
  bucket,
  baseKey,
  connection,
}: S3Place & {
  /** What the store is, in messages. */
  title: string
}): FileStore {
  const base = baseKey.replace(/^\/+|\/+$/g, '')
  const location = `s3://${[bucket, base].filter(Boolean).join('/')}`
  const { endpointUrl } = connection
  const place: Place = {
    bucket,
    s3: openS3(connection),
    title,
    location,
    named: `${title} [${location}]${endpointUrl === undefined ? '' : ` at [${endpointUrl}]`}`,
    prefix: base === '' ? '' : `${base}/`,
  }
  let isSwept = false
  return {
    type: 's3',
    location,
    put: async (localFile, path) => {
      const stored = await putFile(place, localFile, path)
      if (!isSwept) {
        isSwept = true
        // Not all stores can list uploads.
        await removeAbandonedUploads(place.s3, bucket, place.prefix).catch(() => undefined)
      }
      return stored
    },
    get: (path, destinationFile, options) => getObject(place, path, destinationFile, options),
    read: async (path, start, end) => {
      const Key = keyOf(place, path)
      const Range = `bytes=${start}-${end - 1}`
      const { Body } = await place.s3
        .request((sdk, client) => client.send(new sdk.GetObjectCommand({ Bucket: bucket, Key, Range })))
        .catch((error: unknown) => {
          throw missingOr(place, path, error)
        })
      return Readable.from(place.s3.chunksOf(Body))
    },
    find: (path) => findObject(place, path),
    list: (folder) => listObjects(place, folder),
    remove: (path) => removeObject(place, path),
    removeSubfolders: (folder, names) => removeSubfolders(place, folder, names),
  }
}

const unreadable = ({ named, location }: Place, error: unknown): Failure =>
  s3Failure(`Failed to read ${named}`, location, error)
const unwritable = ({ named, location }: Place, error: unknown): Failure =>
  s3Failure(`Failed to write to ${named}`, location, error)

function missingOr(place: Place, path: string, error: unknown): Failure {
  if (!isMissingObject(error)) return unreadable(place, error)
  return notFound(`File [${path}] is not in ${place.title} [${place.location}]`, { file: path })
}

async function putFile(place: Place, localFile: string, path: string): Promise<StoredFile> {
  const object = { Bucket: place.bucket, Key: keyOf(place, path) }
  const unreadable = (error: unknown) => unreadableFile(localFile, error)
  const file = await open(localFile, 'r').catch((error: unknown) => {
    throw unreadable(error)
  })
  try {
    return { path, ...(await uploadFile(place.s3, object, { file, unreadable })) }
  } catch (error) {
    throw unwritable(place, error)
  } finally {
    await file.close()
  }
}

async function getObject(
  place: Place,
  path: string,
  destinationFile: string,
  { expected, signal }: GetOptions = {},
): Promise<FileChecksum> {
  const Key = keyOf(place, path)
  const hash = createHash('sha256')
  let sizeBytes = 0

  async function receive(output: FileHandle): Promise<void> {
    const maxBytes = expected?.sizeBytes ?? Number.POSITIVE_INFINITY
    await place.s3.request(async (sdk, client) => {
      // After an interruption, only the rest is needed.
      const Range = sizeBytes > 0 ? `bytes=${sizeBytes}-` : undefined
      const command = new sdk.GetObjectCommand({ Bucket: place.bucket, Key, Range })
      const { Body } = await client.send(command, signal && { abortSignal: signal })
      for await (const chunk of place.s3.chunksOf(Body, signal)) {
        signal?.throwIfAborted()
        await output.appendFile(chunk).catch((error: unknown) => {
          throw unwritableFile(destinationFile, error)
        })
        hash.update(chunk)
        sizeBytes += chunk.length
        if (sizeBytes > maxBytes) return
      }
    }, signal)
  }

  return await receiveFile(destinationFile, signal, async (output) => {
    try {
      await receive(output)
    } catch (error) {
      signal?.throwIfAborted()
      if (sizeBytes === 0 || !isBehindEnd(error)) throw missingOr(place, path, error)
    }
    const found = { sizeBytes, checksum: `sha256:${hash.digest('hex')}` }
    if (expected !== undefined) assertUndamaged(found, path, expected)
    return found
  })
}

async function findObject(place: Place, path: string): Promise<ListedFile | undefined> {
  const object = { Bucket: place.bucket, Key: keyOf(place, path) }
  try {
    const found = await place.s3.request((sdk, client) => client.send(new sdk.HeadObjectCommand(object)))
    return listed(path, found.ContentLength, found.LastModified)
  } catch (error) {
    if (isMissingObject(error)) return undefined
    throw unreadable(place, error)
  }
}

const listed = (path: string, sizeBytes = 0, modifiedAt = new Date(0)): ListedFile => ({
  path,
  sizeBytes,
  modifiedAtMs: modifiedAt.getTime(),
})

async function* listObjects(place: Place, folder: string): AsyncGenerator<ListedFile> {
  const { s3, bucket: Bucket, prefix } = place
  const Prefix = folder === '' ? prefix : `${keyOf(place, folder)}/`
  let ContinuationToken: string | undefined
  do {
    const page: ListObjectsV2CommandOutput = await s3
      .request((sdk, client) =>
        client.send(new sdk.ListObjectsV2Command({ Bucket, Prefix, ContinuationToken })),
      )
      .catch((error: unknown) => {
        throw unreadable(place, error)
      })
    for (const { Key = '', Size, LastModified } of page.Contents ?? []) {
      yield listed(Key.slice(prefix.length), Size, LastModified)
    }
    ContinuationToken = page.NextContinuationToken
  } while (ContinuationToken !== undefined)
}

async function removeObject(place: Place, path: string): Promise<void> {
  const object = { Bucket: place.bucket, Key: keyOf(place, path) }
  try {
    await place.s3.request((sdk, client) => client.send(new sdk.DeleteObjectCommand(object)))
  } catch (error) {
    if (!isMissingObject(error)) throw unwritable(place, error)
  }
}

async function removeSubfolders(place: Place, folder: string, names: readonly string[]): Promise<void> {
  const removed = new Set(names)
  const depth = partsOfPath(folder).length + 1
  let batch: string[] = []
  const removeBatch = async (): Promise<void> => {
    await Promise.all(batch.map((path) => removeObject(place, path)))
    batch = []
  }
  for await (const { path } of listObjects(place, folder)) {
    const parts = path.split('/')
    if (parts.length <= depth + 1 || !removed.has(parts[depth] ?? '')) continue
    batch.push(path)
    if (batch.length === removedAtOnce) await removeBatch()
  }
  await removeBatch()
}
