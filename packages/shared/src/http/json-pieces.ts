import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Response } from 'express'
import type { NextTurn } from '../slices/index.ts'
import { endOfPiece } from '../wire/index.ts'

/**
 * A response with status 200 whose JSON is sent in pieces while it is generated, as fast as the caller reads it. A very
 * long list needs little memory this way. A failure before the first piece is returned like any other; a later failure
 * closes the connection. A user gets a limited number of them at a time. The JSON must not contain names of services, because aliases
 * are not applied to it.
 */
export class JsonPieces {
  readonly pieces: AsyncGenerator<string>

  constructor(pieces: AsyncGenerator<string>) {
    this.pieces = pieces
  }
}

// Like Druid's web server: the time without any progress after which a connection is closed.
const defaultMaxStallMs = 5 * 60_000

interface SendOptions {
  /** All long responses of a server share it, so that many of them at once do not keep others waiting. */
  readonly nextTurn: NextTurn
  readonly maxStallMs?: number
}

/**
 * Sends the pieces. Resolves when the caller has received everything or has disconnected. A caller that receives nothing for
 * `maxStallMs` is disconnected.
 */
export async function sendPieces(
  response: Response,
  { pieces }: JsonPieces,
  isHead: boolean,
  signal: AbortSignal,
  { nextTurn, maxStallMs = defaultMaxStallMs }: SendOptions,
): Promise<void> {
  const first = await pieces.next()
  response.status(200).type('json')
  if (isHead) {
    await pieces.return(undefined)
    response.end()
    return
  }
  const source = Readable.from(disconnecting(response, inChunks(first, pieces, nextTurn), maxStallMs), {
    objectMode: false,
  })
  await pipeline(source, response, { signal }).catch((error: unknown) => {
    // There is no caller left to report the error to.
    if (!signal.aborted) throw error
  })
}

/** Passes chunks on, and closes the connection if one of them is not taken in time. */
async function* disconnecting(
  response: Response,
  chunks: AsyncIterable<Buffer>,
  maxStallMs: number,
): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    const timer = setTimeout(() => response.destroy(), maxStallMs)
    try {
      yield chunk
    } finally {
      clearTimeout(timer)
    }
  }
}

// Number of characters per write. Longer ones would keep other work waiting, and memory for each of them would stay allocated.
const chunkLength = 32_768

async function* inChunks(
  first: IteratorResult<string>,
  pieces: AsyncGenerator<string>,
  nextTurn: NextTurn,
): AsyncGenerator<Buffer> {
  let text = ''
  try {
    for (let piece = first; !piece.done; piece = await pieces.next()) {
      text += piece.value
      while (text.length >= chunkLength) {
        const end = endOfPiece(text, chunkLength)
        yield Buffer.from(text.slice(0, end))
        text = text.slice(end)
        await nextTurn()
      }
    }
    if (text !== '') yield Buffer.from(text)
  } finally {
    await pieces.return(undefined)
  }
}
