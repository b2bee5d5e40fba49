/** Stands in for the part of the router that sends a request to its target: it travels through the simulated network. */
import type { relay as run } from '../../../services/router/src/relay.ts'
import { runningProcess } from '../environment.ts'
import { sendRequest } from './http/connections.ts'

const headersTimeoutMs = 60_000
const watchPeriodMs = 1000

/** Forwards a request and its response. */
export const relay: typeof run = async (_agent, request, response, headersOf, { isLost }) => {
  const { origin, path, method, headers, body } = request as {
    readonly origin: string
    readonly path: string
    readonly method: string
    readonly headers: readonly string[]
    readonly body: Buffer | null
  }
  const ending = new AbortController()
  const leave = (): void => ending.abort(new Error('The caller disconnected'))
  response.once('close', leave)
  const late = setTimeout(() => ending.abort(new Error('Headers Timeout Error')), headersTimeoutMs)
  const watch =
    isLost &&
    setInterval(() => {
      if (isLost()) ending.abort(new Error('it missed its heartbeats'))
    }, watchPeriodMs)
  try {
    const sent = { method, path, headers: readHeaders(headers), body: body ?? undefined }
    const answer = await sendRequest(runningProcess(), origin, sent, { signal: ending.signal })
    if (answer.status === 307) return 'moved'
    response.writeHead(answer.status, headersOf({ ...answer.headers }))
    response.off('close', leave)
    response.end(answer.body)
    return 'answered'
  } finally {
    clearTimeout(late)
    clearInterval(watch)
    response.off('close', leave)
  }
}

function readHeaders(list: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = {}
  for (let index = 0; index < list.length; index += 2) headers[list[index]!.toLowerCase()] = list[index + 1]!
  return headers
}
