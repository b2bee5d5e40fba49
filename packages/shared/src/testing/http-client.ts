import { Agent, type IncomingHttpHeaders, type IncomingMessage, request as sendPlain } from 'node:http'
import { request as sendOverTls, Agent as TlsAgent } from 'node:https'
import { Readable } from 'node:stream'
import { text as textOf } from 'node:stream/consumers'
import type { ConnectionOptions } from 'node:tls'

/** One request; the path is sent exactly as given, and only headers that describe the body are added. */
export interface SentRequest {
  readonly method?: string
  readonly path: string
  /** Sent as JSON. */
  readonly json?: unknown
  /** Sent unchanged, instead of `json`. */
  readonly text?: string | Buffer | undefined
  /** Sent unchanged as they are produced, without a length, instead of `json`. */
  readonly pieces?: Iterable<string> | AsyncIterable<string>
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  /** `name:password`, instead of the client's own; null for none. */
  readonly credentials?: string | null
  /** Closes the connection when aborted. */
  readonly signal?: AbortSignal
}

/** The response. */
export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  /** The text as JSON; undefined if it is not JSON. */
  readonly json: unknown
}

/** A client for one server and one user. */
export interface HttpClient {
  readonly url: string
  send(request: SentRequest): Promise<Answer>
  /** Returns the response as soon as its headers have arrived. The caller reads the body. */
  open(request: SentRequest): Promise<IncomingMessage>
  /** Returns the JSON of a GET. Throws if the status is not 200. */
  get<Json>(path: string): Promise<Json>
  /** Posts JSON. Throws if the status is not 200. */
  post(path: string, json: unknown, headers?: Readonly<Record<string, string>>): Promise<Answer>
  close(): void
}

/** How a client reaches its server. */
export interface HttpClientOptions {
  /** The certificates that it trusts, PEM. */
  readonly trusted?: string | undefined
  /** `name:password`. */
  readonly credentials?: string | undefined
  /** The name that the server's certificate must be for, if it is not the host of the URL. */
  readonly serverName?: string | undefined
  /** The local address to connect from. */
  readonly localAddress?: string | undefined
  /** Other options of its connections. */
  readonly connection?: ConnectionOptions | undefined
  /** Sees every answer before the caller does; the caller gets the errors that it throws. */
  readonly onAnswer?: ((request: SentRequest, answer: Answer) => void) | undefined
}

const answerTimeoutMs = 30_000

/** The Authorization header of `name:password`. */
export function basicAuthorization(credentials: string): string {
  return `Basic ${Buffer.from(credentials).toString('base64')}`
}

/** Creates a client for the server at `url`. Its connections are reused until it is closed. */
export function createHttpClient(url: string, options: HttpClientOptions = {}): HttpClient {
  const { trusted, credentials, serverName, localAddress, connection, onAnswer } = options
  const { protocol, hostname, port } = new URL(url)
  const hasTls = protocol === 'https:'
  const server = {
    host: hostname.replace(/^\[|\]$/g, ''),
    port,
    agent: hasTls ? new TlsAgent({ keepAlive: true }) : new Agent({ keepAlive: true }),
    ...(trusted === undefined ? {} : { ca: trusted }),
    ...(serverName === undefined ? {} : { servername: serverName }),
    ...(localAddress === undefined ? {} : { localAddress }),
    ...connection,
  }

  async function open(sent: SentRequest): Promise<IncomingMessage> {
    const { method = 'GET', path, json, text, pieces, signal } = sent
    const user = sent.credentials === undefined ? credentials : sent.credentials
    const content = text ?? (json === undefined ? undefined : JSON.stringify(json))
    const body = content === undefined ? undefined : Buffer.from(content)
    const headers = {
      ...(json === undefined ? {} : { 'content-type': 'application/json' }),
      ...(body ? { 'content-length': String(body.length) } : {}),
      ...(user ? { authorization: basicAuthorization(user) } : {}),
      ...lowerCased(sent.headers),
    }
    const attempt = () =>
      new Promise<IncomingMessage>((resolve, reject) => {
        const target = { ...server, method, path, headers, ...(signal ? { signal } : {}) }
        const request = (hasTls ? sendOverTls : sendPlain)(target, resolve)
        const timer = setTimeout(() => {
          request.destroy(new Error(`No answer within ${answerTimeoutMs} ms: ${method} ${url}${path}`))
        }, answerTimeoutMs)
        request.on('response', () => clearTimeout(timer))
        request.on('error', (error: NodeJS.ErrnoException) => {
          clearTimeout(timer)
          // A server may close an idle connection at the moment in which a request is sent over it.
          if (method === 'GET' && request.reusedSocket && error.code === 'ECONNRESET') resolve(attempt())
          else reject(error)
        })
        if (pieces === undefined) request.end(body)
        else Readable.from(pieces).on('error', reject).pipe(request)
      })
    return await attempt()
  }

  async function send(sent: SentRequest): Promise<Answer> {
    const response = await open(sent)
    const answered = await textOf(response)
    const status = response.statusCode ?? 0
    const answer = { status, headers: response.headers, text: answered, json: parseJson(answered) }
    onAnswer?.(sent, answer)
    return answer
  }

  async function sendExpectingSuccess(request: SentRequest): Promise<Answer> {
    const answer = await send(request)
    if (answer.status === 200) return answer
    throw new Error(`${request.method ?? 'GET'} ${url}${request.path}: ${answer.status} ${answer.text}`)
  }

  return {
    url,
    send,
    open,
    get: async <Json>(path: string) => (await sendExpectingSuccess({ path })).json as Json,
    post: (path, json, headers = {}) => sendExpectingSuccess({ method: 'POST', path, json, headers }),
    close: () => server.agent.destroy(),
  }
}

/** Request headers by lowercase name, so that those of a caller replace those that the body adds. */
function lowerCased(headers: SentRequest['headers'] = {}): Record<string, string | string[]> {
  const entries = Object.entries(headers) as [string, string | string[]][]
  return Object.fromEntries(entries.map(([name, value]) => [name.toLowerCase(), value]))
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** A request whose body is sent unchanged if it is a string or a buffer, and as JSON if it is another value. */
export interface HttpCall extends Omit<SentRequest, 'json' | 'text'> {
  readonly body?: unknown
}

/** Sends one request to a local port over its own connection. */
export async function httpRequest(port: number, { body, ...request }: HttpCall): Promise<Answer> {
  const client = createHttpClient(`http://127.0.0.1:${port}`)
  const isUnchanged = typeof body === 'string' || Buffer.isBuffer(body)
  try {
    return await client.send({ ...request, ...(isUnchanged ? { text: body } : { json: body }) })
  } finally {
    client.close()
  }
}
