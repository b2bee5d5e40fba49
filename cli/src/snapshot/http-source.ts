import type { IncomingMessage, RequestOptions } from 'node:http'
import { describeError, Failure, forbidden, unauthorized, unavailable } from '@svc/domain/failure'
import {
  connectionContext,
  describeConnectionError,
  hintFor,
  notReady,
  parseClusterUrl,
  withoutLogin,
} from '../client/index.ts'
import { type HttpReader, openHttpRestrictedParts } from './http-restricted-parts.ts'
import { elementsOf } from './json-list.ts'
import { type DocumentName, documents, type Seen, type SnapshotSource } from './snapshot-source.ts'

/** How to reach a cluster. */
export interface HttpAccess {
  /** URL of its router or coordinator. */
  readonly url: string
  /** `name:password`. */
  readonly credentials?: string | undefined
  /** The certificates to trust, PEM. */
  readonly trusted?: string | undefined
  /** Max time without any data, in milliseconds. */
  readonly timeoutMs?: number | undefined
  /** Cancels all requests when aborted. */
  readonly signal?: AbortSignal | undefined
}

// All paths start with one of these prefixes.
const prefixes = ['svc', 'druid']
const maxDocumentBytes = 64 * 1024 * 1024
// A document that arrives byte by byte would never end.
const maxDocumentMs = 600_000
const maxRedirects = 5
const compactionConfigsPath = '/indexer/v1/compaction/config/datasources'

/** A running cluster with the management API. Throws a Failure if there is none at the URL. */
export async function openHttp(access: HttpAccess): Promise<SnapshotSource> {
  const base = parseClusterUrl(access.url)
  const word = await findPrefix(base, access)
  const prefix = `${base}/${word}`

  async function read(path: string, needed: boolean): Promise<unknown> {
    const url = `${prefix}${path}`
    const response = await get(url, access)
    if (response.statusCode === 404 && !needed) {
      response.resume()
      return undefined
    }
    return await readJson(await expectJson(response, url), url, access)
  }

  /** The compaction configuration. If supervisors run compaction, the overlord has the configurations of datasources. */
  async function readCompaction(): Promise<unknown> {
    const { path, needed } = documents.compaction
    const document = await read(path, needed)
    if ((document as { useSupervisors?: unknown } | undefined)?.useSupervisors !== true) return document
    const ofSupervisors = (await read(compactionConfigsPath, true)) as { compactionConfigs?: unknown }
    return { ...(document as object), compactionConfigs: ofSupervisors.compactionConfigs }
  }

  return {
    name: base,
    ...openHttpRestrictedParts(openReader(base, word, access)),
    check: async () => [],
    document: async (name: DocumentName) =>
      name === 'compaction'
        ? await readCompaction()
        : await read(documents[name].path, documents[name].needed),
    segments: async function* () {
      const url = `${prefix}/coordinator/v1/metadata/segments?includeOvershadowedStatus`
      const response = await expectJson(await get(url, access), url)
      try {
        yield* elementsOf(response, url)
      } catch (error) {
        throw access.signal?.aborted ? access.signal.reason : error
      }
    },
  }
}

/** Reads parts that the cluster may refuse or not have. */
function openReader(base: string, word: string, access: HttpAccess): HttpReader {
  async function open(url: string): Promise<Seen<IncomingMessage>> {
    const response = await get(url, access)
    if (response.statusCode === 200) return { value: await expectJson(response, url) }
    response.resume()
    return { unseen: `[${new URL(url).pathname}] returned status [${response.statusCode}]` }
  }
  async function see(url: string): Promise<Seen<unknown>> {
    const opened = await open(url)
    return 'unseen' in opened ? opened : { value: await readJson(opened.value, url, access) }
  }
  const paths = [`${base}/proxy/coordinator/${word}-ext/basic-security`, `${base}/${word}-ext/basic-security`]
  return {
    see: (path) => see(`${base}/${word}${path}`),
    seeList: async (path) => {
      const url = `${base}/${word}${path}`
      const opened = await open(url)
      return 'unseen' in opened ? opened : { value: elementsOf(opened.value, url) }
    },
    seeSecurity: async (path) => {
      // Only routers have the first one.
      const seen = await see(`${paths[0]}${path}`)
      return 'unseen' in seen ? await see(`${paths[1]}${path}`) : seen
    },
  }
}

async function findPrefix(base: string, access: HttpAccess): Promise<string> {
  for (const prefix of prefixes) {
    const url = `${base}/${prefix}/coordinator/v1/rules`
    const response = await get(url, access)
    if (response.statusCode === 404) {
      response.resume()
      continue
    }
    ;(await expectJson(response, url)).destroy()
    return prefix
  }
  throw unavailable(
    `[${base}] has neither /svc/coordinator nor /druid/coordinator: expected the URL of a router or coordinator`,
  )
}

/** The answer, after redirects to the leader; follows redirects only on the same host. */
async function get(address: string, access: HttpAccess): Promise<IncomingMessage> {
  let url = new URL(address)
  for (let redirects = 0; ; redirects++) {
    const response = await sendGet(url, access)
    const { location } = response.headers
    if (![301, 302, 303, 307, 308].includes(response.statusCode ?? 0) || location === undefined)
      return response
    response.destroy()
    const next = URL.canParse(location, url) ? new URL(location, url) : undefined
    if (redirects === maxRedirects)
      throw unavailable(`The source at [${address}] redirects more than ${maxRedirects} times`)
    // The password is only for the host that the user specified.
    if (next?.hostname !== url.hostname || next.protocol !== url.protocol) {
      throw unavailable(
        `The source at [${address}] redirects to [${withoutLogin(location)}], but svc sends credentials only to the original host. If the cluster is at the new URL, use that URL with --from.`,
      )
    }
    url = next
  }
}

async function sendGet(url: URL, access: HttpAccess): Promise<IncomingMessage> {
  const { credentials, trusted, timeoutMs = 60_000, signal } = access
  const { get: request } = url.protocol === 'https:' ? await import('node:https') : await import('node:http')
  const options: RequestOptions & { ca?: string } = {
    timeout: timeoutMs,
    headers: {
      accept: 'application/json',
      ...(credentials === undefined
        ? {}
        : { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` }),
    },
    ...(trusted === undefined ? {} : { ca: trusted }),
    ...(signal === undefined ? {} : { signal }),
  }
  return await new Promise<IncomingMessage>((resolve, reject) => {
    let response: IncomingMessage | undefined
    const outgoing = request(url, options, (answer) => {
      response = answer
      resolve(answer)
    })
    outgoing.once('timeout', () =>
      (response ?? outgoing).destroy(new Error(`no data received for ${timeoutMs} ms`)),
    )
    outgoing.once('error', (error) => {
      const hint = hintFor(error, url.href)
      reject(
        signal?.aborted
          ? signal.reason
          : unavailable(
              `Failed to read [${url.href}]: ${describeConnectionError(error)}${hint}`,
              connectionContext(error),
              error,
            ),
      )
    })
  })
}

/** The answer if it is a JSON document. Throws a Failure otherwise. */
async function expectJson(response: IncomingMessage, url: string): Promise<IncomingMessage> {
  const { statusCode, headers } = response
  const type = headers['content-type'] ?? 'no content type'
  if (statusCode === 200 && /json/.test(type)) return response
  response.destroy()
  if (statusCode === 401) {
    throw unauthorized(
      `The source at [${url}] returned status [401]: missing or invalid credentials. Use --user and --password-file.`,
    )
  }
  if (statusCode === 403) {
    throw forbidden(
      `The source at [${url}] returned status [403]: the user given with --user has no permission to read it`,
    )
  }
  throw unavailable(
    statusCode === 200
      ? `The source at [${url}] returned [${type}]: expected JSON`
      : `The source at [${url}] returned status [${statusCode}]: expected [200]`,
    statusCode === 503 ? notReady : {},
  )
}

async function readJson(response: IncomingMessage, url: string, { signal }: HttpAccess): Promise<unknown> {
  const chunks: Buffer[] = []
  let sizeBytes = 0
  const late = setTimeout(
    () => response.destroy(new Error(`the response was incomplete after ${maxDocumentMs} ms`)),
    maxDocumentMs,
  )
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      sizeBytes += chunk.length
      if (sizeBytes > maxDocumentBytes)
        throw unavailable(
          `The response from [${url}] is too large: expected at most ${maxDocumentBytes} bytes`,
        )
      chunks.push(chunk)
    }
    return JSON.parse(Buffer.concat(chunks).toString()) as unknown
  } catch (error) {
    if (signal?.aborted) throw signal.reason
    if (error instanceof Failure) throw error
    throw unavailable(`Failed to read [${url}]: ${describeError(error)}`, {}, error)
  } finally {
    clearTimeout(late)
  }
}
