import type { IncomingMessage, RequestOptions } from 'node:http'
import { describeError, Failure, invalidInput, unavailable } from '@svc/domain/failure'
import { elementsOf } from './json-list.ts'
import { type DocumentName, documents, type SnapshotSource } from './snapshot-source.ts'
import { withoutLogin } from './without-login.ts'

/** How a cluster is reached. */
export interface HttpAccess {
  /** Its router or coordinator. */
  readonly url: string
  /** `name:password`. */
  readonly credentials?: string | undefined
  /** The certificates to trust, PEM. */
  readonly trusted?: string | undefined
  /** How long nothing may come, in milliseconds. */
  readonly timeoutMs?: number | undefined
  /** Ends all that is read when aborted. */
  readonly signal?: AbortSignal | undefined
}

// The interface begins with one of these words.
const words = ['svc', 'druid']
const largestDocumentBytes = 64 * 1024 * 1024
// One that comes byte by byte would never end.
const longestDocumentMs = 600_000
const mostRedirects = 5
const compactionConfigsPath = '/indexer/v1/compaction/config/datasources'

/** A running cluster that speaks the interface. Throws a Failure where nothing at the address does. */
export async function openHttp(access: HttpAccess): Promise<SnapshotSource> {
  const base = access.url.replace(/\/+$/, '').replace(/^https?/i, (scheme) => scheme.toLowerCase())
  if (base.includes('@')) {
    throw invalidInput(
      `Address [${withoutLogin(access.url)}] has a login in it: give that by --user and --password-file`,
    )
  }
  if (!/^https?:\/\/[^/?#]+$/.test(base) || !URL.canParse(base)) {
    throw invalidInput(`Address [${access.url}] is not one such as http://127.0.0.1:8888`)
  }
  const prefix = `${base}/${await findWord(base, access)}`

  async function read(path: string, needed: boolean): Promise<unknown> {
    const url = `${prefix}${path}`
    const response = await get(url, access)
    if (response.statusCode === 404 && !needed) {
      response.resume()
      return undefined
    }
    return await readJson(await expectJson(response, url), url, access)
  }

  /** What compaction follows: where supervisors run it, the overlord has the configurations of the datasources. */
  async function readCompaction(): Promise<unknown> {
    const { path, needed } = documents.compaction
    const document = await read(path, needed)
    if ((document as { useSupervisors?: unknown } | undefined)?.useSupervisors !== true) return document
    const ofSupervisors = (await read(compactionConfigsPath, true)) as { compactionConfigs?: unknown }
    return { ...(document as object), compactionConfigs: ofSupervisors.compactionConfigs }
  }

  return {
    name: base,
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

async function findWord(base: string, access: HttpAccess): Promise<string> {
  for (const word of words) {
    const url = `${base}/${word}/coordinator/v1/rules`
    const response = await get(url, access)
    if (response.statusCode === 404) {
      response.resume()
      continue
    }
    ;(await expectJson(response, url)).destroy()
    return word
  }
  throw unavailable(
    `[${base}] offers neither /svc/coordinator nor /druid/coordinator: give its router or coordinator`,
  )
}

/** The answer, after the redirects of those who do not lead; only within the host that was named. */
async function get(address: string, access: HttpAccess): Promise<IncomingMessage> {
  let url = new URL(address)
  for (let redirects = 0; ; redirects++) {
    const response = await ask(url, access)
    const { location } = response.headers
    if (![301, 302, 303, 307, 308].includes(response.statusCode ?? 0) || location === undefined)
      return response
    response.destroy()
    const next = URL.canParse(location, url) ? new URL(location, url) : undefined
    if (redirects === mostRedirects)
      throw unavailable(`[${address}] redirects more than ${mostRedirects} times`)
    // The password is for the host that the user has named.
    if (next?.hostname !== url.hostname || next.protocol !== url.protocol) {
      throw unavailable(
        `[${address}] redirects to [${withoutLogin(location)}], where the login is not sent: give that address with --from if it is the cluster`,
      )
    }
    url = next
  }
}

async function ask(url: URL, access: HttpAccess): Promise<IncomingMessage> {
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
      (response ?? outgoing).destroy(new Error(`nothing came for ${timeoutMs} ms`)),
    )
    outgoing.once('error', (error) => {
      const hint = /certificate|self.signed|issuer/i.test(error.message)
        ? '; --trust names the certificates to trust'
        : ''
      reject(
        signal?.aborted
          ? signal.reason
          : unavailable(`[${url.href}] cannot be read: ${describeError(error)}${hint}`, {}, error),
      )
    })
  })
}

/** The answer if it is a JSON document. Throws a Failure that tells what came instead. */
async function expectJson(response: IncomingMessage, url: string): Promise<IncomingMessage> {
  const { statusCode, headers } = response
  const type = headers['content-type'] ?? 'no content type'
  if (statusCode === 200 && /json/.test(type)) return response
  response.destroy()
  if (statusCode === 401) {
    throw invalidInput(
      `[${url}] answered status [401]: give --user and --password-file of someone who may log in there`,
    )
  }
  if (statusCode === 403) {
    throw invalidInput(`[${url}] answered status [403]: the user of --user may not read it`)
  }
  throw unavailable(
    statusCode === 200
      ? `[${url}] answered status [200] with [${type}] instead of JSON`
      : `[${url}] answered status [${statusCode}] instead of [200]`,
  )
}

async function readJson(response: IncomingMessage, url: string, { signal }: HttpAccess): Promise<unknown> {
  const chunks: Buffer[] = []
  let sizeBytes = 0
  const late = setTimeout(
    () => response.destroy(new Error(`it was not whole after ${longestDocumentMs} ms`)),
    longestDocumentMs,
  )
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      sizeBytes += chunk.length
      if (sizeBytes > largestDocumentBytes)
        throw unavailable(`[${url}] is larger than ${largestDocumentBytes} bytes`)
      chunks.push(chunk)
    }
    return JSON.parse(Buffer.concat(chunks).toString()) as unknown
  } catch (error) {
    if (signal?.aborted) throw signal.reason
    if (error instanceof Failure) throw error
    throw unavailable(`[${url}] cannot be read: ${describeError(error)}`, {}, error)
  } finally {
    clearTimeout(late)
  }
}
