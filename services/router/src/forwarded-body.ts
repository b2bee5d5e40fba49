import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { Failure, invalidInput } from '@svc/domain/failure'
import { createPace, hasBody, SharedBudget } from '@svc/shared/http'

// Bodies up to this size are received completely before they use a connection to a server.
const maxBufferedBytes = 64 * 1024

/** The body of a forwarded request. */
export interface ForwardedBody {
  /** Whether it can be sent more than once. */
  readonly isRepeatable: boolean
  /** Returns the content to send. Call it once per attempt. */
  content(): Buffer | Readable | null
  /** Call it when the body is no longer needed. */
  release(): void
}

const noBody: ForwardedBody = { isRepeatable: true, content: () => null, release: () => undefined }

/**
 * Creates the intake of request bodies. It receives short bodies completely and streams long ones, a few per caller at a
 * time, so that slow callers do not block the connections to a server.
 */
export function createBodyIntake() {
  const waits = { maxWaitingPerCaller: 64, maxWaiting: 512, maxWaitMs: 20_000 }
  const received = new SharedBudget({ max: 2000, maxPerCaller: 500, ...waits })
  const streamed = new SharedBudget({ max: 64, maxPerCaller: 8, ...waits })

  /** Throws requestTimedOut if a body arrives too slowly, and busy if too many bodies are being sent. */
  return async (request: IncomingMessage, caller: string): Promise<ForwardedBody> => {
    if (!hasBody(request)) return noBody
    const releaseReceived = await received.take(caller, 1)
    const incoming = pacedChunks(request)
    try {
      const { bytes, isComplete } = await beginning(incoming)
      if (isComplete) return { ...noBody, content: () => bytes }
      const release = await streamed.take(caller, 1)
      return {
        isRepeatable: false,
        content: () => Readable.from(continued(bytes, incoming), { objectMode: false }),
        release,
      }
    } catch (error) {
      incoming.stop()
      throw error
    } finally {
      releaseReceived()
    }
  }
}

async function beginning(incoming: Chunks): Promise<{ bytes: Buffer; isComplete: boolean }> {
  const chunks: Buffer[] = []
  for (let length = 0; length <= maxBufferedBytes; ) {
    const chunk = await incoming.next()
    if (chunk === undefined) return { bytes: Buffer.concat(chunks), isComplete: true }
    chunks.push(chunk)
    length += chunk.length
  }
  return { bytes: Buffer.concat(chunks), isComplete: false }
}

async function* continued(bytes: Buffer, incoming: Chunks): AsyncGenerator<Buffer> {
  try {
    yield bytes
    for (let chunk = await incoming.next(); chunk !== undefined; chunk = await incoming.next()) yield chunk
  } finally {
    incoming.stop()
  }
}

interface Chunks {
  /** Returns the next chunk of a body, or undefined at its end. The minimum rate applies only during this call. */
  next(): Promise<Buffer | undefined>
  /** Stops reading, and leaves the rest of the body in the request. */
  stop(): void
}

function pacedChunks(request: IncomingMessage): Chunks {
  const iterator = request.iterator({ destroyOnReturn: false })
  const pace = createPace()
  const next = async () => {
    const { promise: slow, reject } = Promise.withResolvers<never>()
    pace.resume()
    pace.start(() => reject(new Failure('requestTimedOut', 'The request body arrived too slowly')))
    try {
      const chunk = iterator.next().catch(() => {
        throw invalidInput('The request ended before its body was complete')
      })
      const { done, value } = await Promise.race([chunk, slow])
      if (done) return undefined
      pace.received(value.length)
      return value
    } finally {
      pace.stop()
      pace.pause()
    }
  }
  return { next, stop: () => void iterator.return?.() }
}
