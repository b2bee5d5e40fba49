import { connect, type Socket } from 'node:net'
import { connect as connectWithTls } from 'node:tls'
import { waitUntil } from '@svc/shared/testing'

/** The response to bytes that no client library would send. */
export interface RawAnswer {
  /** Undefined if the connection was closed without an answer. */
  readonly status: number | undefined
  readonly text: string
}

/**
 * Connects to a server. Ignores errors, because a server that refuses a request may reset the connection before the request is
 * sent completely; its answer until then counts.
 */
export function connectRaw(
  url: string,
  options: { readonly ca?: string; readonly localAddress?: string },
): Socket {
  const { hostname, port, protocol } = new URL(url)
  const target = { ...options, host: hostname, port: Number(port) }
  const socket = protocol === 'https:' ? connectWithTls(target) : connect(target)
  return socket.on('error', () => undefined)
}

/** Sends raw bytes and reads until the server closes the connection, which a valid request must therefore request. */
export async function sendRaw(url: string, bytes: string, trusted?: string): Promise<RawAnswer> {
  const socket = connectRaw(url, trusted === undefined ? {} : { ca: trusted })
  let text = ''
  socket.setEncoding('latin1').on('data', (part: string) => {
    text += part
  })
  socket.write(bytes)
  try {
    const look = () => ({ isClosed: socket.closed, text })
    await waitUntil('the server closes the connection', look, ({ isClosed }) => isClosed, {
      timeoutMs: 10_000,
    })
  } finally {
    socket.destroy()
  }
  const status = /^HTTP\/1\.1 (\d{3})/.exec(text)?.[1]
  return { status: status === undefined ? undefined : Number(status), text }
}
