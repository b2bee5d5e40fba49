import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect, type TLSSocket } from 'node:tls'
import type { Manner } from './input-classes.ts'

/** A request as it is written to a connection. */
export interface RawRequest {
  readonly url: string
  readonly trusted: string | undefined
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer | null
  readonly manner: Manner
  /** Number of requests on the connection, if they are pipelined. */
  readonly count: number
}

/** One response. */
export interface RawResponse {
  readonly status: number
  readonly contentType: string
  readonly text: string
}

const crlf = '\r\n'
// Idle connections do not share the limit of connections with the healthy user.
const idleAddress = '127.0.0.2'
const idleMs = 2000
// A response that does not end, such as a stream of changes, is read for this long.
const quietMs = 1000

/** Sends a request in an unusual manner. Returns the responses until the connection ends; none for an idle connection. */
export async function sendRaw(request: RawRequest, signal: AbortSignal): Promise<RawResponse[]> {
  const { url, trusted, manner } = request
  const { hostname, port } = new URL(url)
  const socket = connect({
    host: hostname,
    port: Number(port),
    ...(trusted === undefined ? {} : { ca: trusted }),
    ...(manner === 'idle' ? { localAddress: idleAddress } : {}),
  }).on('error', () => undefined)
  try {
    if (manner === 'idle') {
      await sleep(idleMs, undefined, { signal })
      return []
    }
    await once(socket, 'secureConnect', { signal })
    return await exchange(socket, request, signal)
  } finally {
    socket.destroy()
  }
}

async function exchange(socket: TLSSocket, request: RawRequest, signal: AbortSignal): Promise<RawResponse[]> {
  const responses: RawResponse[] = []
  let incomplete = ''
  let receivedAtMs = Infinity
  socket.on('data', (bytes) => {
    incomplete = takeResponses(incomplete + bytes.toString('latin1'), responses)
    receivedAtMs = performance.now()
  })
  const wanted = request.manner === 'pipelined' ? request.count : 1
  write(socket, request).catch(() => undefined)
  for (;;) {
    const isQuiet = performance.now() - receivedAtMs > quietMs
    if (responses.length >= wanted || socket.destroyed || isQuiet) return responses
    await sleep(5, undefined, { signal })
  }
}

async function write(socket: TLSSocket, request: RawRequest): Promise<void> {
  const { method, path, headers, body, manner, count } = request
  const length =
    manner === 'tiny chunks' ? 'Transfer-Encoding: chunked' : `Content-Length: ${body?.length ?? 0}`
  const head = [
    `${method} ${path} HTTP/1.1`,
    'Host: localhost',
    length,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    '',
    '',
  ].join(crlf)
  socket.write(manner === 'pipelined' ? head.repeat(count) : head)
  const pieces = manner === 'tiny chunks' ? chunksOf(body) : manner === 'tiny records' ? recordsOf(body) : []
  for (const piece of pieces) {
    // Only a write that waits for the previous one becomes a record of its own.
    await new Promise<void>((resolve, reject) =>
      socket.write(piece, (error) => (error ? reject(error) : resolve())),
    )
  }
}

const chunksPerWrite = 10_000

function* chunksOf(body: Buffer | null): Generator<string> {
  for (let left = body?.length ?? 0; left > 0; left -= chunksPerWrite)
    yield `1${crlf} ${crlf}`.repeat(Math.min(left, chunksPerWrite))
  yield `0${crlf}${crlf}`
}

function* recordsOf(body: Buffer | null): Generator<Buffer> {
  for (const byte of body ?? []) yield Buffer.of(byte)
}

/** Adds the complete responses in a text. Returns what follows them. */
function takeResponses(text: string, responses: RawResponse[]): string {
  let rest = text
  for (;;) {
    const headEnd = rest.indexOf(`${crlf}${crlf}`)
    const head = rest.slice(0, headEnd)
    const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1])
    if (headEnd < 0 || Number.isNaN(status)) return rest
    const bodyStart = headEnd + 2 * crlf.length
    const end = endOfBody(rest, bodyStart, head)
    if (end === undefined) return rest
    responses.push({
      status,
      contentType: /\r\ncontent-type: (.*)/i.exec(head)?.[1] ?? '',
      text: rest.slice(bodyStart, end),
    })
    rest = rest.slice(end)
  }
}

function endOfBody(text: string, start: number, head: string): number | undefined {
  const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1]
  if (length === undefined && /\r\ntransfer-encoding: chunked/i.test(head)) {
    const last = text.indexOf(`${crlf}0${crlf}${crlf}`, start)
    return last < 0 ? undefined : last + 7
  }
  const end = start + Number(length ?? 0)
  return text.length >= end ? end : undefined
}
