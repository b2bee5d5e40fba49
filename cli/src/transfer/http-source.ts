import type { IncomingMessage } from 'node:http'
import { describeError, invalidInput, unavailable } from '@svc/domain/failure'
import { elementsOf } from './json-list.ts'
import { documents, type SnapshotSource } from './snapshot-source.ts'

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
}

// The interface begins with one of these words.
const words = ['svc', 'druid']
const largestDocumentBytes = 256 * 1024 * 1024

/** A running cluster that speaks the interface. Throws a Failure where nothing at the address does. */
export async function openHttp(access: HttpAccess): Promise<SnapshotSource> {
  const base = access.url.replace(/\/+$/, '')
  if (!/^https?:\/\/[^/]+$/.test(base)) {
    throw invalidInput(`Address [${access.url}] is not one such as http://127.0.0.1:8888`)
  }
  const word = await findWord(base, access)
  return {
    name: base,
    document: async (name) => {
      const { path, needed } = documents[name]
      const url = `${base}/${word}${path}`
      const response = await get(url, access)
      if (response.statusCode === 404 && !needed) {
        response.resume()
        return undefined
      }
      return await readJson(await expectJson(response, url), url)
    },
    segments: async function* () {
      const url = `${base}/${word}/coordinator/v1/metadata/segments`
      yield* elementsOf(await expectJson(await get(url, access), url), url)
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

async function get(
  address: string,
  { credentials, trusted, timeoutMs = 60_000 }: HttpAccess,
): Promise<IncomingMessage> {
  const { get: request } = address.startsWith('https:')
    ? await import('node:https')
    : await import('node:http')
  return await new Promise<IncomingMessage>((resolve, reject) => {
    const outgoing = request(
      address,
      {
        timeout: timeoutMs,
        headers: {
          accept: 'application/json',
          ...(credentials === undefined
            ? {}
            : { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` }),
        },
        ...(trusted === undefined ? {} : { ca: trusted }),
      },
      resolve,
    )
    outgoing.once('timeout', () => outgoing.destroy(new Error(`nothing came for ${timeoutMs} ms`)))
    outgoing.once('error', (error) =>
      reject(unavailable(`[${address}] cannot be read: ${describeError(error)}`, {}, error)),
    )
  })
}

/** The answer if it is a JSON document. Throws a Failure that tells what came instead. */
async function expectJson(response: IncomingMessage, url: string): Promise<IncomingMessage> {
  const { statusCode, headers } = response
  const type = headers['content-type'] ?? 'no content type'
  if (statusCode === 200 && /json/.test(type)) return response
  response.destroy()
  if (statusCode === 401 || statusCode === 403) {
    throw invalidInput(
      `[${url}] answered status [${statusCode}]: give --user name:password of someone who may read it`,
    )
  }
  throw unavailable(`[${url}] answered status [${statusCode}] with [${type}] instead of JSON`)
}

async function readJson(response: IncomingMessage, url: string): Promise<unknown> {
  const chunks: Buffer[] = []
  let sizeBytes = 0
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      sizeBytes += chunk.length
      if (sizeBytes > largestDocumentBytes) throw new Error(`it is larger than ${largestDocumentBytes} bytes`)
      chunks.push(chunk)
    }
    return JSON.parse(Buffer.concat(chunks).toString()) as unknown
  } catch (error) {
    throw unavailable(`[${url}] cannot be read: ${describeError(error)}`, {}, error)
  }
}
