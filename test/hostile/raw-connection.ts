import { once } from 'node:events'
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { connectRaw } from '../support/raw-request.ts'
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
export async function sendInManner(request: RawRequest, signal: AbortSignal): Promise<RawResponse[]> {
  const { url, trusted, manner } = request
  const socket = connectRaw(url, {
    ...(trusted === undefined ? {} : { ca: trusted }),
    ...(manner === 'idle' ? { localAddress: idleAddress } : {}),
  })
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

async function exchange(socket: Socket, request: RawRequest, signal: AbortSignal): Promise<RawResponse[]> {
  const responses: RawResponse[] = []
  const reader = readResponses(responses)
  reader.next()
  let receivedAtMs = Infinity
  socket.on('data', (bytes) => {
    reader.next(bytes.toString('latin1'))
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

async function write(socket: Socket, request: RawRequest): Promise<void> {
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

/**
 * Adds the responses in the texts that it receives, one after the other. Reads each byte only once, because responses may be very
 * long. Ends at the first text that is not a response.
 */
export function* readResponses(responses: RawResponse[]): Generator<undefined, void, string> {
  let text = ''
  /** Returns the text before the next `end`. */
  function* until(end: string): Generator<undefined, string, string> {
    let at = text.indexOf(end)
    for (; at < 0; at = text.indexOf(end)) text += yield
    const found = text.slice(0, at)
    text = text.slice(at + end.length)
    return found
  }
  function* exactly(length: number): Generator<undefined, string, string> {
    const parts: string[] = []
    for (let missing = length; ; text = yield) {
      const part = text.slice(0, missing)
      parts.push(part)
      missing -= part.length
      text = text.slice(part.length)
      if (missing === 0) return parts.join('')
    }
  }
  function* chunks(): Generator<undefined, string, string> {
    const parts: string[] = []
    for (;;) {
      const length = Number.parseInt(yield* until(crlf), 16)
      parts.push(yield* exactly(length))
      yield* until(crlf)
      if (length === 0) return parts.join('')
    }
  }
  for (;;) {
    const head = yield* until(`${crlf}${crlf}`)
    const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1])
    if (Number.isNaN(status)) return
    const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1]
    const isChunked = length === undefined && /\r\ntransfer-encoding: chunked/i.test(head)
    responses.push({
      status,
      contentType: /\r\ncontent-type: (.*)/i.exec(head)?.[1] ?? '',
      text: isChunked ? yield* chunks() : yield* exactly(Number(length ?? 0)),
    })
  }
}
