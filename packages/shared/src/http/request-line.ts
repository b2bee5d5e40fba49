import type { Socket } from 'node:net'

// Longer request lines are refused by the parser.
const maxLineLength = 16_384
/** A request line without a version (HTTP/0.9), or with the version of another protocol. */
const foreignLine = /^[A-Z]+ [^ ]+(?: (?!HTTP\/)[^ ]*)?$/

/**
 * Calls `refuse` instead of the HTTP parser if the first request of a connection is not HTTP/1. The parser of Node.js waits for
 * the headers of an HTTP/0.9 request, which has none, and takes RTSP/1.0 for HTTP/1.0. Called after the parser of Node.js was
 * attached.
 */
export function refuseForeignProtocols(socket: Socket, refuse: () => void): void {
  const listeners = socket.listeners('data') as ((chunk: Buffer) => void)[]
  let received = ''
  const check = (chunk: Buffer) => {
    received = (received + chunk.toString('latin1', 0, maxLineLength)).replace(/^[\r\n]+/, '')
    const [line, ...rest] = received.split('\n', 2)
    const isWhole = rest.length > 0
    const isChecked = isWhole || received.length >= maxLineLength
    if (isChecked) socket.off('data', check)
    if (isWhole && foreignLine.test(line!.replace(/\r$/, ''))) {
      socket.resume()
      refuse()
      return
    }
    for (const listener of listeners) {
      if (isChecked) socket.on('data', listener)
      listener.call(socket, chunk)
    }
  }
  // What is refused must never reach the parser.
  socket.removeAllListeners('data').on('data', check)
}
