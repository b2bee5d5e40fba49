import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'

// Time for a client to read the response. A connection that is closed while bytes still arrive is reset, and the client may
// lose the response.
const discardMs = 5000
// All connections together discard 40 MiB per second: faster, they would delay all requests.
const tickMs = 50
const bytesPerTick = 2 * 1024 * 1024
const maxReadBytes = 64 * 1024

const paused = new Set<Duplex>()
let leftBytes = bytesPerTick
let isTicking = false

function tick(): void {
  isTicking = false
  leftBytes = bytesPerTick
  const resumed = [...paused].slice(0, bytesPerTick / maxReadBytes)
  for (const socket of resumed) {
    paused.delete(socket)
    socket.resume()
  }
  if (paused.size > 0) scheduleTick()
}

function scheduleTick(): void {
  if (!isTicking) setTimeout(tick, tickMs).unref()
  isTicking = true
}

/**
 * Closes a connection in two stages: after what was written to it, it is closed for writing, and discards what it receives. Some
 * seconds later, it is destroyed.
 */
export function discardRest(socket: Duplex): void {
  const timer = setTimeout(() => socket.destroy(), discardMs).unref()
  socket.once('close', () => {
    clearTimeout(timer)
    paused.delete(socket)
  })
  // The client may reset the connection at any time.
  socket.on('error', () => undefined)
  socket.on('data', ({ length }: Buffer) => {
    leftBytes -= length
    scheduleTick()
    if (leftBytes > 0) return
    socket.pause()
    paused.add(socket)
  })
  socket.end()
  socket.resume()
}

/** Receives the rest of a short request, for a limited time, so that its connection can be used again. */
export function drain(request: IncomingMessage): void {
  if (request.complete || request.destroyed) return
  const timer = setTimeout(() => request.socket.destroy(), discardMs).unref()
  const stop = () => clearTimeout(timer)
  request.once('end', stop).once('close', stop)
  // Without a listener for data, an iterator that ends later leaves the request paused.
  request.on('data', () => undefined).resume()
}
