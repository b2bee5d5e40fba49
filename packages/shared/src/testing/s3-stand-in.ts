import { createHash, createHmac, randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Scope } from './temporary.ts'

/** What the stand-in does with a request instead of executing it. */
export type S3Fault =
  /** An error of S3, such as `SlowDown` with status 503. */
  | { readonly status: number; readonly code: string }
  /** The connection ends after this many bytes of the answer. */
  | { readonly cutAfterBytes: number }
  /** The request is executed, but its answer is lost. */
  | 'lostAnswer'
  | 'noAnswer'

/** A request as faults see it. */
export interface S3Request {
  readonly method: string
  readonly bucket: string
  readonly key: string
  readonly query: URLSearchParams
  readonly range: string | undefined
}

/** A small S3 service in this process. It checks signatures, and keeps its objects in memory. */
export interface S3StandIn {
  readonly url: string
  readonly accessKey: string
  readonly secretKey: string
  /** The objects of the bucket `segments`, by key. */
  readonly objects: Map<string, StoredObject>
  /** The parts of uploads that are not complete, by upload. */
  readonly uploads: Map<string, Upload>
  readonly requests: S3Request[]
  /** Decides what happens to each request; undefined executes it. */
  fault: ((request: S3Request) => S3Fault | undefined) | undefined
  /** Closes the port and all connections. */
  stop(): Promise<void>
  /** Listens at the same port again. */
  start(): Promise<void>
}

interface StoredObject {
  readonly bytes: Buffer
  readonly modifiedAt: Date
}

interface Upload {
  readonly key: string
  readonly initiatedAt: Date
  readonly parts: Map<number, Buffer>
}

/** The only bucket of the stand-in. */
export const standInBucket = 'segments'
const pageSize = 3
const accessKey = 'access'
const secretKey = 'secret/+='

const sha256 = (bytes: Buffer | string): string => createHash('sha256').update(bytes).digest('hex')
const hmac = (key: Buffer | string, text: string): Buffer => createHmac('sha256', key).update(text).digest()
const etagOf = (bytes: Buffer): string => `"${createHash('md5').update(bytes).digest('hex')}"`
const xml = (text: string): string =>
  text.replace(/[&<>]/g, (character) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;' })[character] as string)

class S3Refusal extends Error {
  readonly status: number
  readonly code: string
  constructor(status: number, code: string) {
    super(code)
    this.status = status
    this.code = code
  }
}

/** Starts a stand-in that listens at an address of this machine and ends with the scope. */
export async function startS3StandIn(scope: Scope, address = '127.0.0.1'): Promise<S3StandIn> {
  const objects: S3StandIn['objects'] = new Map()
  const uploads: S3StandIn['uploads'] = new Map()
  let server: Server | undefined
  let port = 0
  const start = async (): Promise<void> => {
    const started = createServer((request, response) => void serve(standIn, request, response))
    await new Promise<void>((resolve) => started.listen(port, address, resolve))
    port = (started.address() as AddressInfo).port
    server = started
  }
  const stop = async (): Promise<void> => {
    const stopped = server
    server = undefined
    if (stopped === undefined) return
    const closed = new Promise((resolve) => stopped.close(resolve))
    stopped.closeAllConnections()
    await closed
  }
  await start()
  scope.after(stop)
  const standIn: S3StandIn = {
    url: `http://${address}:${port}`,
    accessKey,
    secretKey,
    objects,
    uploads,
    requests: [],
    fault: undefined,
    stop,
    start,
  }
  return standIn
}

interface Answer {
  readonly status: number
  readonly headers?: Record<string, string>
  readonly body?: Buffer | string
}

async function serve(standIn: S3StandIn, incoming: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(incoming.url ?? '/', 'http://stand-in')
  const [, bucket = '', ...rest] = url.pathname.split('/')
  const request: S3Request = {
    method: incoming.method ?? '',
    bucket: decodeURIComponent(bucket),
    key: rest.map(decodeURIComponent).join('/'),
    query: url.searchParams,
    range: incoming.headers.range,
  }
  const chunks: Buffer[] = []
  try {
    for await (const chunk of incoming) chunks.push(chunk)
  } catch {
    // The client closed the connection.
    return
  }
  const body = Buffer.concat(chunks)
  standIn.requests.push(request)
  const fault = standIn.fault?.(request)
  if (fault === 'noAnswer') return
  let answer: Answer
  try {
    if (typeof fault === 'object' && 'code' in fault) throw new S3Refusal(fault.status, fault.code)
    checkSignature(incoming, url, body)
    if (request.bucket !== standInBucket) throw new S3Refusal(404, 'NoSuchBucket')
    answer = answerTo(standIn, request, body)
  } catch (error) {
    if (!(error instanceof S3Refusal)) throw error
    const { status, code } = error
    answer = { status, body: `<Error><Code>${code}</Code><Message>${code}</Message></Error>` }
  }
  if (fault === 'lostAnswer') {
    response.destroy()
    return
  }
  send(
    response,
    request,
    answer,
    typeof fault === 'object' && 'cutAfterBytes' in fault ? fault.cutAfterBytes : undefined,
  )
}

function send(
  response: ServerResponse,
  { method }: S3Request,
  { status, headers = {}, body = '' }: Answer,
  cutAfterBytes: number | undefined,
): void {
  const bytes = Buffer.from(body)
  response.writeHead(status, { 'content-length': String(bytes.length), ...headers })
  if (method === 'HEAD') response.end()
  else if (cutAfterBytes === undefined) response.end(bytes)
  else response.write(bytes.subarray(0, cutAfterBytes), () => response.destroy())
}

/** Checks an AWS Signature Version 4, including the checksum of the body. */
function checkSignature({ headers, method = '' }: IncomingMessage, url: URL, body: Buffer): void {
  const parts = /^AWS4-HMAC-SHA256 Credential=([^,]+), ?SignedHeaders=([^,]+), ?Signature=(\w+)$/.exec(
    headers.authorization ?? '',
  )
  if (parts === null) throw new S3Refusal(403, 'AccessDenied')
  const [, credential = '', signedHeaders = '', signature] = parts
  const [key, date = '', region = '', service = '', end = ''] = credential.split('/')
  if (key !== accessKey) throw new S3Refusal(403, 'InvalidAccessKeyId')
  const bodyHash = String(headers['x-amz-content-sha256'])
  const encode = (text: string): string =>
    encodeURIComponent(text).replace(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`)
  const query = [...url.searchParams]
    .map(([name, value]) => `${encode(name)}=${encode(value)}`)
    .sort()
    .join('&')
  const named = signedHeaders.split(';').map((name) => `${name}:${String(headers[name]).trim()}\n`)
  const canonical = [method, url.pathname, query, named.join(''), signedHeaders, bodyHash].join('\n')
  const scope = [date, region, service, end].join('/')
  const toSign = ['AWS4-HMAC-SHA256', headers['x-amz-date'], scope, sha256(canonical)].join('\n')
  const signingKey = [date, region, service, end].reduce<Buffer | string>(hmac, `AWS4${secretKey}`)
  if (hmac(signingKey, toSign).toString('hex') !== signature)
    throw new S3Refusal(403, 'SignatureDoesNotMatch')
  if (bodyHash !== sha256(body)) throw new S3Refusal(400, 'XAmzContentSHA256Mismatch')
}

function answerTo(standIn: S3StandIn, request: S3Request, body: Buffer): Answer {
  const { method, query, key } = request
  const { objects } = standIn
  if (query.has('uploadId') || query.has('uploads')) return answerToUpload(standIn, request, body)
  if (method === 'GET' && key === '') return listObjects(objects, query)
  if (method === 'PUT') {
    objects.set(key, { bytes: body, modifiedAt: new Date() })
    return { status: 200, headers: { etag: etagOf(body) } }
  }
  if (method === 'DELETE') {
    objects.delete(key)
    return { status: 204 }
  }
  const object = objects.get(key)
  if (object === undefined) throw new S3Refusal(404, 'NoSuchKey')
  return readObject(object, request)
}

function readObject({ bytes, modifiedAt }: StoredObject, { range, method }: S3Request): Answer {
  const headers = { etag: etagOf(bytes), 'last-modified': modifiedAt.toUTCString() }
  if (method === 'HEAD') return { status: 200, headers: { ...headers, 'content-length': `${bytes.length}` } }
  if (range === undefined) return { status: 200, headers, body: bytes }
  const [, from = '', to = ''] = /^bytes=(\d+)-(\d*)$/.exec(range) ?? []
  if (Number(from) >= bytes.length) throw new S3Refusal(416, 'InvalidRange')
  const end = to === '' ? bytes.length : Math.min(Number(to) + 1, bytes.length)
  const contentRange = `bytes ${from}-${end - 1}/${bytes.length}`
  return {
    status: 206,
    headers: { ...headers, 'content-range': contentRange },
    body: bytes.subarray(Number(from), end),
  }
}

function listObjects(objects: S3StandIn['objects'], query: URLSearchParams): Answer {
  const prefix = query.get('prefix') ?? ''
  const after = query.get('continuation-token') ?? ''
  const keys = [...objects.keys()].filter((key) => key.startsWith(prefix) && key > after).sort()
  const page = keys.slice(0, pageSize)
  const contents = page.map((key) => {
    const { bytes, modifiedAt } = objects.get(key) as StoredObject
    return `<Contents><Key>${xml(key)}</Key><Size>${bytes.length}</Size><LastModified>${modifiedAt.toISOString()}</LastModified></Contents>`
  })
  const isTruncated = keys.length > page.length
  const next = isTruncated ? `<NextContinuationToken>${xml(page.at(-1) ?? '')}</NextContinuationToken>` : ''
  return {
    status: 200,
    body: `<?xml version="1.0"?><ListBucketResult><IsTruncated>${isTruncated}</IsTruncated>${next}${contents.join('')}</ListBucketResult>`,
  }
}

function answerToUpload(
  { objects, uploads }: S3StandIn,
  { method, query, key }: S3Request,
  body: Buffer,
): Answer {
  if (method === 'GET') {
    const found = [...uploads].map(
      ([id, upload]) =>
        `<Upload><Key>${xml(upload.key)}</Key><UploadId>${id}</UploadId><Initiated>${upload.initiatedAt.toISOString()}</Initiated></Upload>`,
    )
    return { status: 200, body: `<ListMultipartUploadsResult>${found.join('')}</ListMultipartUploadsResult>` }
  }
  if (query.has('uploads')) {
    const id = randomUUID()
    uploads.set(id, { key, initiatedAt: new Date(), parts: new Map() })
    const result = `<InitiateMultipartUploadResult><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`
    return { status: 200, body: result }
  }
  const id = query.get('uploadId') ?? ''
  const upload = uploads.get(id)
  if (upload === undefined) throw new S3Refusal(404, 'NoSuchUpload')
  if (method === 'PUT') {
    upload.parts.set(Number(query.get('partNumber')), body)
    return { status: 200, headers: { etag: etagOf(body) } }
  }
  uploads.delete(id)
  if (method === 'DELETE') return { status: 204 }
  const numbers = [...body.toString().matchAll(/<PartNumber>(\d+)</g)].map(([, number]) => Number(number))
  const parts = numbers.map((number) => upload.parts.get(number))
  if (parts.some((part) => part === undefined)) throw new S3Refusal(400, 'InvalidPart')
  objects.set(key, { bytes: Buffer.concat(parts as Buffer[]), modifiedAt: new Date() })
  return { status: 200, body: '<CompleteMultipartUploadResult></CompleteMultipartUploadResult>' }
}
