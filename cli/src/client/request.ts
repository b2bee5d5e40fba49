import type { Agent, IncomingHttpHeaders, IncomingMessage, RequestOptions } from 'node:http'
import { Failure, timedOut } from '@svc/domain/failure'

/** One request to a service. */
export interface ServiceRequest {
  readonly method?: string
  readonly url: string
  /** The certificates to trust, PEM; required for `https:`. */
  readonly trusted?: string | undefined
  /** User name and password, as `name:password`. */
  readonly credentials?: string | undefined
  /** Sent as JSON. */
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly timeoutMs?: number
  /** Reuses connections; by default, each request has its own. */
  readonly agent?: Agent
}

/** The answer: its status, headers, and body, parsed if it is JSON. */
export interface ServiceAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: unknown
}

const isConnected = 'isConnected'

/** Whether a request timed out although the server accepted the connection. */
export const hasNoResponse = (error: unknown): boolean =>
  error instanceof Failure && Object.hasOwn(error.context, isConnected)

/**
 * Sends one request and reads the entire answer. Rejects with the error of the connection, or with timedOut; any status is an answer.
 * Uses Node's own modules: loading a client library would take longer than the request.
 */
export async function sendRequest(request: ServiceRequest): Promise<ServiceAnswer> {
  const url = new URL(request.url)
  const { request: send } = url.protocol === 'https:' ? await import('node:https') : await import('node:http')
  // Bytes: together with a text, Node.js would send headers as UTF-8 instead of Latin-1.
  const body = request.body === undefined ? undefined : Buffer.from(JSON.stringify(request.body))
  const options: RequestOptions & { ca?: string } = {
    method: request.method ?? 'GET',
    agent: request.agent ?? false,
    timeout: request.timeoutMs ?? 10_000,
    headers: {
      accept: 'application/json',
      ...(body === undefined
        ? {}
        : { 'content-type': 'application/json', 'content-length': String(body.length) }),
      ...(request.credentials === undefined
        ? {}
        : { authorization: `Basic ${Buffer.from(request.credentials).toString('base64')}` }),
      ...request.headers,
    },
    ...(request.trusted === undefined ? {} : { ca: request.trusted }),
  }
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const outgoing = send(url, options, resolve)
    outgoing.once('timeout', () => {
      const context = outgoing.socket?.connecting === false ? { [isConnected]: 'true' } : {}
      outgoing.destroy(timedOut(`timed out after ${options.timeout} ms`, context))
    })
    outgoing.once('error', reject)
    outgoing.end(body)
  })
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk)
  const { statusCode = 0, headers } = response
  return { status: statusCode, headers, body: parseBody(Buffer.concat(chunks).toString()) }
}

/** The message of an error answer, or its status if it has no message. */
export function errorMessageOf(answer: Pick<ServiceAnswer, 'status' | 'body'>): string {
  return messageIn(answer) ?? `status ${answer.status}`
}

/** The message of an error answer; undefined if it has none. */
export function messageIn(answer: Pick<ServiceAnswer, 'body'>): string | undefined {
  // Druid has endpoints that answer only with `error`.
  const { errorMessage, error } = (answer.body ?? {}) as { errorMessage?: unknown; error?: unknown }
  const message = errorMessage ?? error
  return typeof message === 'string' ? message : undefined
}

function parseBody(text: string): unknown {
  try {
    return text === '' ? undefined : JSON.parse(text)
  } catch {
    return text
  }
}
