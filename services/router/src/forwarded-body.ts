import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { Failure, invalidInput } from '@svc/domain/failure'
import { createPace, hasBody, SharedBudget } from '@svc/shared/http'

// A body up to this length, in bytes, is received before a connection to a server is taken for it.
const maxBufferedBytes = 64 * 1024

/** The body of a request as it is sent on. */
export interface ForwardedBody {
  /** Whether it can be sent more than once. */
  readonly isRepeatable: boolean
  /** What is sent; each call is for one attempt. */
  content(): Buffer | Readable | null
  /** Called when nothing more of it is needed. */
  release(): void
}

const noBody: ForwardedBody = { isRepeatable: true, content: () => null, release: () => undefined }

/**
 * Takes in the bodies of requests: short ones are received first, long ones are passed on while they arrive, a few of each
 * caller at a time. So slow senders do not keep the connections to a server from others.
 */
export function createBodyIntake() {
  const waits = { maxWaitingPerCaller: 64, maxWaiting: 512, maxWaitMs: 20_000 }
  const received = new SharedBudget({ max: 2000, maxPerCaller: 500, ...waits })
  const streamed = new SharedBudget({ max: 64, maxPerCaller: 8, ...waits })

  /** Throws requestTimedOut for a body that arrives too slowly, and busy where too many bodies are sent already. */
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
  /** The next chunk of a body; undefined at its end. Only the time that this takes counts as slow. */
  next(): Promise<Buffer | undefined>
  /** Leaves the rest of the body to whoever reads the request next. */
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
