/** Stands in for the connections between servers: requests travel through the simulated network. */
import type { IncomingMessage } from 'node:http'
import type { Connections } from '../../../../packages/shared/src/client/connections.ts'
import { environmentOf, runningProcess } from '../../environment.ts'
import type { SimulatedProcess } from '../../kernel/index.ts'
import type { Handler } from './handler.ts'
import type { HttpAnswer, HttpRequest } from './messages.ts'

const handlers = new WeakMap<SimulatedProcess, Handler>()

/** Lets a process answer requests. */
export function serveRequests(process: SimulatedProcess, handler: Handler): void {
  handlers.set(process, handler)
}

const hosts = new Map<string, string>()

/** Returns the host of a URL. There are few URLs, and parsing takes longer than most events. */
function hostOf(baseUrl: string): string {
  let host = hosts.get(baseUrl)
  if (host === undefined) {
    host = new URL(baseUrl).hostname
    hosts.set(baseUrl, host)
  }
  return host
}

/** Sends a request to the server with this URL. Rejects with an operating system error, or with the signal's reason. */
export function sendRequest(
  from: SimulatedProcess,
  baseUrl: string,
  request: HttpRequest,
  options: { readonly signal?: AbortSignal; readonly mayRepeat?: boolean } = {},
): Promise<HttpAnswer> {
  const { network, machines } = environmentOf(from)
  const to = machines.get(hostOf(baseUrl))
  if (to === undefined)
    return Promise.reject(Object.assign(new Error(`Unknown host [${baseUrl}]`), { code: 'ENOTFOUND' }))
  return network.call({
    from,
    to,
    isListening: (target) => handlers.has(target),
    serve: (exchange, target) => handlers.get(target)!(request, exchange),
    ...options,
  })
}

/** Opens the connections of the running process. */
export function openConnections(): Connections {
  const process = runningProcess()
  return {
    send: async ({ origin, pathname, search }, { method, headers, data: body, signal }) => {
      const lower: Record<string, string> = {}
      for (const name in headers) lower[name.toLowerCase()] = String(headers[name])
      const path = pathname + search
      const request = { method, path, headers: lower, body }
      const mayRepeat = path.startsWith('/svc-internal/')
      return messageOf(await sendRequest(process, origin, request, { signal, mayRepeat }))
    },
    close: () => undefined,
  }
}

/** Returns the only piece of a body. A generator would take several times as long. */
function piecesOf(body: Buffer): AsyncIterator<Buffer> {
  let isRead = body.length === 0
  return {
    next: async () => {
      if (isRead) return { done: true, value: undefined }
      isRead = true
      return { done: false, value: body }
    },
  }
}

/** Returns an answer in the form of Node.js, as far as the client uses it. */
function messageOf({ status, headers, body }: HttpAnswer): IncomingMessage {
  const message = {
    statusCode: status,
    headers,
    socket: {},
    destroy: () => undefined,
    [Symbol.asyncIterator]: () => piecesOf(body),
  }
  return message as unknown as IncomingMessage
}
