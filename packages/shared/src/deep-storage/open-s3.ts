import { readFile } from 'node:fs/promises'
import { Agent } from 'node:https'
import type { Readable } from 'node:stream'
import type { S3Client } from '@aws-sdk/client-s3'
import { retry } from '../retry/index.ts'
import { unreadableFile } from './receive-file.ts'
import { isTemporary } from './s3-errors.ts'

/** How to connect to S3. */
export interface S3Connection {
  /** Default: the endpoint of AWS for the region. */
  readonly endpointUrl: string | undefined
  readonly region: string
  /** Default: the credentials that the AWS SDK finds in the environment, in its files, or on the machine. */
  readonly accessKey: string | undefined
  readonly secretKey: string | undefined
  /** Whether the bucket is in the path of URLs, instead of in the host name. */
  readonly isPathStyle: boolean
  /** PEM file of the authorities to trust. Default: those of the system. */
  readonly caPath: string | undefined
  /** How long to retry a request that fails for a temporary reason. */
  readonly retryTimeoutMs: number
  /** How long a request may take until the store answers, and how long the store may then send nothing. */
  readonly idleTimeoutMs: number
}

type Sdk = typeof import('@aws-sdk/client-s3')

/** Requests to S3. */
export interface S3Requests {
  /**
   * Calls `work` with a client. While it fails for a temporary reason, calls it again, up to the timeout for retries.
   * Throws the reason of the signal, which `work` must pass to the client too.
   */
  request<Result>(
    work: (sdk: Sdk, client: S3Client) => Promise<Result>,
    signal?: AbortSignal,
  ): Promise<Result>
  /** Returns the chunks of a body. Throws a temporary error if the store sends nothing for a while. */
  chunksOf(body: unknown, signal?: AbortSignal): AsyncIterable<Buffer>
}

const connectTimeoutMs = 5000
const retryDelayMs = 500
const maxConnections = 50

/** Prepares requests. The SDK is loaded with the first request. */
export function openS3(connection: S3Connection): S3Requests {
  let opened: ReturnType<typeof openClient> | undefined
  const open = () => {
    opened ??= openClient(connection).catch((error: unknown) => {
      opened = undefined
      throw error
    })
    return opened
  }
  return {
    request: async (work, signal) => {
      const { sdk, client } = await open()
      try {
        return await retry(() => work(sdk, client), {
          isTemporary,
          delayMs: retryDelayMs,
          timeoutMs: connection.retryTimeoutMs,
          signal,
        })
      } catch (error) {
        // The client throws its own error for an aborted request.
        signal?.throwIfAborted()
        throw error
      }
    },
    chunksOf: (body, signal) => limitIdleTime(body as Readable, connection.idleTimeoutMs, signal),
  }
}

async function openClient(connection: S3Connection): Promise<{ sdk: Sdk; client: S3Client }> {
  const { endpointUrl, region, accessKey, secretKey, isPathStyle, caPath, idleTimeoutMs } = connection
  // Clusters that store their segments in a folder do not need the memory that the SDK takes.
  const sdk = await import('@aws-sdk/client-s3')
  const ca = caPath === undefined ? undefined : await readAuthorities(caPath)
  const client = new sdk.S3Client({
    region,
    forcePathStyle: isPathStyle,
    ...(endpointUrl === undefined ? {} : { endpoint: endpointUrl }),
    ...(accessKey === undefined || secretKey === undefined
      ? {}
      : { credentials: { accessKeyId: accessKey, secretAccessKey: secretKey } }),
    // Many other stores reject the checksums of AWS. The signature contains the SHA-256 of what is sent, and what is
    // received is compared with the checksum of the segment.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    // `request` retries.
    maxAttempts: 1,
    requestHandler: {
      connectionTimeout: connectTimeoutMs,
      requestTimeout: idleTimeoutMs,
      throwOnRequestTimeout: true,
      httpsAgent: new Agent({ keepAlive: true, maxSockets: maxConnections, ...(ca && { ca }) }),
    },
  })
  return { sdk, client }
}

const readAuthorities = (file: string): Promise<Buffer> =>
  readFile(file).catch((error: unknown) => {
    throw unreadableFile(file, error)
  })

async function* limitIdleTime(
  body: Readable,
  idleTimeoutMs: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<Buffer> {
  const stop = (): void => void body.destroy(signal?.reason)
  signal?.addEventListener('abort', stop)
  const chunks = body.iterator()
  try {
    for (;;) {
      const timer = setTimeout(() => {
        const error = new Error(`The S3 service sent nothing for [${idleTimeoutMs}] ms`)
        body.destroy(Object.assign(error, { name: 'TimeoutError' }))
      }, idleTimeoutMs)
      const next = await chunks.next().finally(() => clearTimeout(timer))
      if (next.done) return
      yield next.value as Buffer
    }
  } finally {
    signal?.removeEventListener('abort', stop)
    body.destroy()
  }
}
