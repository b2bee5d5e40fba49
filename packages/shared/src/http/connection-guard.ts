import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { type Failure, invalidInput } from '@svc/domain/failure'
import { discardRest, drain } from './discard-rest.ts'
import { hasBody, knownLength } from './receive-body.ts'
import { RequestLine } from './request-line.ts'
import { PieceCount, tooManyPieces } from './small-pieces.ts'

const blankLine = '\r\n\r\n'
// A chunked body is parsed in parts of this length, because each part may contain hundreds of chunks.
const maxChunkedPartBytes = 4096
// Requests that wait for the response to an earlier one. Above this length, the connection is not read: it must be read for the
// server to notice that the client disconnects.
const maxWaitingBytes = 64 * 1024
// Up to this length, the rest of a request is received after an early response, so that the connection can be used again.
const maxDrainedBytes = 64 * 1024
// Node.js warns about more listeners of one kind. A streamed response has about ten, which are removed with it.
const maxListeners = 20

const foreignProtocol = invalidInput(
  'Unsupported protocol in the request line: expected [HTTP/1.1] or [HTTP/1.0]',
)

const guards = new WeakMap<Duplex, ConnectionGuard>()

/** Returns the guard of a connection; undefined before the TLS handshake is complete. */
export const guardOf = (socket: Duplex): ConnectionGuard | undefined => guards.get(socket)

/**
 * Passes what a connection receives to the parser of Node.js, one request at a time: a request waits for the response to the
 * previous one. So a client that sends many requests without waiting for responses costs no more than any other client.
 * `refuse` responds to a request that the parser must not get.
 */
export class ConnectionGuard {
  private readonly socket: Socket
  private readonly refuse: (failure: Failure) => void
  private readonly parsers: readonly ((bytes: Buffer) => void)[]
  private position: 'between requests' | 'head' | 'body' = 'between requests'
  private line = new RequestLine()
  private pieces = new PieceCount()
  private request: IncomingMessage | undefined
  private response: ServerResponse | undefined
  /** Bytes of the body that are still expected, unless the body is chunked. */
  private bodyLeftBytes = 0
  /** The last bytes that were parsed, which may be the beginning of a blank line. */
  private lastBytes = ''
  private waiting: Buffer[] = []
  private waitingBytes = 0
  private isOver = false

  /** Called after the parser of Node.js was attached to the socket. */
  constructor(socket: Socket, refuse: (failure: Failure) => void) {
    this.socket = socket
    this.refuse = refuse
    this.parsers = socket.listeners('data') as ((bytes: Buffer) => void)[]
    guards.set(socket, this)
    const destroySoon = socket.destroySoon.bind(socket)
    socket.destroySoon = () => (this.isReceiving() ? this.close() : destroySoon())
    socket.removeAllListeners('data').on('data', (bytes: Buffer) => this.receive(bytes))
  }

  /** Called for each request that the parser found. */
  begin(request: IncomingMessage, response: ServerResponse): void {
    this.position = 'body'
    this.request = request
    this.response = response
    response.setMaxListeners(maxListeners)
    response.once('close', () => {
      // Other connections get their turn before the next request of this one.
      if (this.waiting.length > 0) setImmediate(() => this.continue())
    })
    this.bodyLeftBytes = Number(request.headers['content-length'] ?? 0)
    if (!hasBody(request)) return
    this.limitPieces(request)
    const isLong = (knownLength(request) ?? Number.POSITIVE_INFINITY) > maxDrainedBytes
    if (isLong) closeAfterEarlyResponse(request, response)
    else response.once('finish', () => drain(request))
  }

  /**
   * Closes the connection after what was written to it, and after `response` unless the current request already has one. Nothing
   * that it receives reaches the parser any more.
   */
  close(response?: string): void {
    if (this.isOver) return
    this.isOver = true
    this.waiting = []
    const needsResponse =
      this.position === 'head' || (this.position === 'body' && !this.response?.headersSent)
    if (response !== undefined && needsResponse) this.socket.write(response)
    discardRest(this.socket)
  }

  private isReceiving(): boolean {
    return this.waiting.length > 0 || this.request?.complete === false
  }

  private receive(bytes: Buffer): void {
    if (this.isOver) return
    if (this.waiting.length === 0) this.pass(bytes)
    else if (this.pieces.add(bytes.length)) this.refuse(tooManyPieces)
    else this.wait(bytes)
  }

  /** Passes bytes to the parser until the connection is closed, or until the next request must wait. */
  private pass(bytes: Buffer): void {
    let rest = bytes
    while (rest.length > 0 && !this.isOver && !this.socket.destroyed) {
      if (this.position === 'between requests') {
        if (this.response?.closed === false) {
          this.wait(rest)
          return
        }
        this.position = 'head'
        this.line = new RequestLine()
        this.pieces = new PieceCount()
      }
      const part = rest.subarray(0, this.lengthOfPart(rest))
      rest = rest.subarray(part.length)
      if (this.pieces.add(part.length)) this.refuse(tooManyPieces)
      else if (this.position === 'head' && this.line.isForeign(part)) this.refuse(foreignProtocol)
      else this.parse(part)
    }
  }

  private parse(part: Buffer): void {
    if (this.position === 'body') this.bodyLeftBytes -= part.length
    for (const parser of this.parsers) parser.call(this.socket, part)
    const isBetween = this.position === 'body' && this.request?.complete === true
    if (isBetween) this.position = 'between requests'
    this.lastBytes = isBetween
      ? ''
      : (this.lastBytes + part.toString('latin1', Math.max(0, part.length - 3))).slice(-3)
  }

  /** Returns the length of the next part, which never contains bytes of two requests. */
  private lengthOfPart(bytes: Buffer): number {
    if (this.position === 'body' && this.bodyLeftBytes > 0) return Math.min(bytes.length, this.bodyLeftBytes)
    const length = lengthToBlankLine(this.lastBytes, bytes)
    return this.position === 'head' ? length : Math.min(length, maxChunkedPartBytes)
  }

  private wait(bytes: Buffer): void {
    this.waiting.push(bytes)
    this.waitingBytes += bytes.length
    if (this.waitingBytes > maxWaitingBytes) this.socket.pause()
  }

  private continue(): void {
    const bytes = Buffer.concat(this.waiting)
    this.waiting = []
    this.waitingBytes = 0
    this.socket.resume()
    this.pass(bytes)
  }

  private limitPieces(request: IncomingMessage): void {
    const chunks = new PieceCount()
    const push = request.push.bind(request)
    request.push = (bytes, encoding) => {
      if (bytes === null || !chunks.add(bytes.length)) return push(bytes, encoding)
      this.refuse(tooManyPieces)
      return true
    }
  }
}

/** Closes the connection if the response begins before the request is complete. */
function closeAfterEarlyResponse(request: IncomingMessage, response: ServerResponse): void {
  const writeHead = response.writeHead.bind(response) as (...values: unknown[]) => ServerResponse
  response.writeHead = (...values: unknown[]) => {
    if (!request.complete) response.shouldKeepAlive = false
    return writeHead(...values)
  }
}

/** Returns the number of bytes up to the end of the first blank line, which may begin in `lastBytes`; all if there is none. */
function lengthToBlankLine(lastBytes: string, bytes: Buffer): number {
  const early = (lastBytes + bytes.toString('latin1', 0, blankLine.length - 1)).indexOf(blankLine)
  if (early >= 0) return early + blankLine.length - lastBytes.length
  const index = bytes.indexOf(blankLine, 0, 'latin1')
  return index < 0 ? bytes.length : index + blankLine.length
}
