import { connect } from 'node:net'
import { connect as connectWithTls } from 'node:tls'

const timeoutMs = 10_000

/** The response to bytes that no client library would send. */
export interface RawAnswer {
  /** Undefined if the connection was closed without an answer. */
  readonly status: number | undefined
  readonly text: string
}

/**
 * Sends raw bytes and reads until the server closes the connection. A valid request must therefore ask for
 * that.
 */
export async function sendRaw(url: string, bytes: string, trusted?: string): Promise<RawAnswer> {
  const { hostname, port, protocol } = new URL(url)
  const socket =
    protocol === 'https:'
      ? connectWithTls({
          host: hostname,
          port: Number(port),
          ...(trusted === undefined ? {} : { ca: trusted }),
        })
      : connect(Number(port), hostname)
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  // A server that refuses a request may reset the connection before the request is sent completely; its answer
  // until then counts.
  socket.on('error', () => undefined)
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      reject(new Error(`No complete answer within ${timeoutMs} ms: ${Buffer.concat(chunks)}`))
    }, timeoutMs)
  })
  socket.write(bytes)
  try {
    await Promise.race([closed, timeout])
  } finally {
    clearTimeout(timer)
    socket.destroy()
  }
  const text = Buffer.concat(chunks).toString('latin1')
  const status = /^HTTP\/1\.1 (\d{3})/.exec(text)?.[1]
  return { status: status === undefined ? undefined : Number(status), text }
}
