import { type IncomingHttpHeaders, request } from 'node:http'

/** A request sent as given; only `Host` and `Content-Length` are added. */
export interface HttpCall {
  readonly method?: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  /** Strings and buffers are sent unchanged; other values are sent as JSON with its content type. */
  readonly body?: unknown
}

/** The response. */
export interface HttpAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  /** The body parsed as JSON; undefined if it is not JSON. */
  readonly json: unknown
}

/** Sends one request to a local port over its own connection. */
export async function httpRequest(port: number, call: HttpCall): Promise<HttpAnswer> {
  const { method = 'GET', path, headers = {}, body } = call
  const isJson = body !== undefined && typeof body !== 'string' && !Buffer.isBuffer(body)
  const bytes = body === undefined ? undefined : Buffer.isBuffer(body) ? body : Buffer.from(textOf(body))
  return await new Promise((resolve, reject) => {
    const sent = request(
      {
        host: '127.0.0.1',
        port,
        method,
        path,
        agent: false,
        headers: {
          ...(isJson ? { 'Content-Type': 'application/json' } : {}),
          ...(bytes ? { 'Content-Length': bytes.length } : {}),
          ...(headers as Record<string, string | string[]>),
        },
      },
      (answer) => {
        const chunks: Buffer[] = []
        answer.on('data', (chunk: Buffer) => chunks.push(chunk))
        answer.on('error', reject)
        answer.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8')
          resolve({
            status: answer.statusCode ?? 0,
            headers: answer.headers,
            text,
            json: readJson(answer.headers, text),
          })
        })
      },
    )
    sent.on('error', reject)
    sent.end(bytes)
  })
}

const textOf = (body: unknown): string => (typeof body === 'string' ? body : JSON.stringify(body))

function readJson(headers: IncomingHttpHeaders, text: string): unknown {
  const isJson = headers['content-type']?.startsWith('application/json') ?? false
  return isJson && text !== '' ? JSON.parse(text) : undefined
}
