import { Agent, type Dispatcher } from 'undici'

/** One request; the path is sent exactly as given. */
export interface SentRequest {
  readonly method?: string
  readonly path: string
  /** Sent as JSON. */
  readonly json?: unknown
  /** Sent unchanged, instead of `json`. */
  readonly text?: string | Buffer
  readonly headers?: Readonly<Record<string, string>>
  /** `name:password`, instead of the client's own; null for none. */
  readonly credentials?: string | null
}

/** The response. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
  /** The text as JSON; undefined if it is not JSON. */
  readonly json: unknown
}

/** A client for one server and one user. */
export interface HttpClient {
  readonly url: string
  send(request: SentRequest): Promise<Answer>
  /** Returns the JSON of a GET. Throws if the status is not 200. */
  get<Json>(path: string): Promise<Json>
  /** Posts JSON. Throws if the status is not 200. */
  post(path: string, json: unknown, headers?: Readonly<Record<string, string>>): Promise<Answer>
  close(): Promise<void>
}

/** The Authorization header of `name:password`. */
export function basicAuthorization(credentials: string): string {
  return `Basic ${Buffer.from(credentials).toString('base64')}`
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
  /** Sees every answer before the caller does; the caller gets the errors that it throws. */
  readonly onAnswer?: ((request: SentRequest, answer: Answer) => void) | undefined
}

/** Creates a client for the server at `url`. */
export function createHttpClient(
  url: string,
  { trusted, credentials, serverName, localAddress, onAnswer }: HttpClientOptions = {},
): HttpClient {
  const connect = {
    ...(trusted === undefined ? {} : { ca: trusted }),
    ...(serverName === undefined ? {} : { servername: serverName }),
  }
  const agent = new Agent({
    connect,
    headersTimeout: 30_000,
    ...(localAddress === undefined ? {} : { localAddress }),
  })

  async function send(request: SentRequest): Promise<Answer> {
    const { method = 'GET', path, json, text, headers = {} } = request
    const body = text ?? (json === undefined ? null : JSON.stringify(json))
    const user = request.credentials === undefined ? credentials : (request.credentials ?? undefined)
    const answer = await agent.request({
      origin: url,
      path,
      method: method as Dispatcher.HttpMethod,
      headers: {
        ...(json === undefined ? {} : { 'content-type': 'application/json' }),
        ...(user === undefined ? {} : { authorization: basicAuthorization(user) }),
        ...headers,
      },
      body,
    })
    const answered = await answer.body.text()
    const full: Answer = {
      status: answer.statusCode,
      headers: answer.headers,
      text: answered,
      json: parseJson(answered),
    }
    onAnswer?.(request, full)
    return full
  }

  async function sendExpectingSuccess(request: SentRequest): Promise<Answer> {
    const answer = await send(request)
    if (answer.status === 200) return answer
    throw new Error(`${request.method ?? 'GET'} ${url}${request.path}: ${answer.status} ${answer.text}`)
  }

  return {
    url,
    send,
    get: async <Json>(path: string) => (await sendExpectingSuccess({ path })).json as Json,
    post: (path, json, headers = {}) => sendExpectingSuccess({ method: 'POST', path, json, headers }),
    close: () => agent.destroy(),
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
