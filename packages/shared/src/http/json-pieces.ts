import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Response } from 'express'

/**
 * A response with status 200 whose JSON is sent in pieces while it is generated, as fast as the caller reads it. A very
 * long list needs little memory this way. A failure before the first piece is returned like any other; a later failure
 * closes the connection. The JSON must not contain names of services, because aliases are not applied to it.
 */
export class JsonPieces {
  readonly pieces: AsyncGenerator<string>

  constructor(pieces: AsyncGenerator<string>) {
    this.pieces = pieces
  }
}

/** JSON strings in pages of any size. */
type Pages = AsyncIterable<readonly string[]> | Iterable<readonly string[]>

/** Generates a JSON list whose members come in pages. */
export async function* jsonList(pages: Pages): AsyncGenerator<string> {
  yield* enclosed('[', pages, ']')
}

/** Generates a JSON object whose members, `"name":value`, come in pages. */
export async function* jsonObject(pages: Pages): AsyncGenerator<string> {
  yield* enclosed('{', pages, '}')
}

async function* enclosed(opening: string, pages: Pages, closing: string): AsyncGenerator<string> {
  let before = opening
  for await (const page of pages) {
    if (page.length === 0) continue
    yield before + page.join(',')
    before = ','
  }
  yield before === opening ? opening + closing : closing
}

/** Generates a JSON list of values that are generated in pieces themselves. */
export async function* jsonListOf(members: AsyncIterable<AsyncGenerator<string>>): AsyncGenerator<string> {
  let before = '['
  for await (const member of members) {
    yield before
    yield* member
    before = ','
  }
  yield before === '[' ? '[]' : ']'
}

type ObjectMember = readonly [name: string, value: AsyncGenerator<string>]

/** Generates a JSON object of values that are generated in pieces themselves. */
export async function* jsonObjectOf(
  members: AsyncIterable<ObjectMember> | Iterable<ObjectMember>,
): AsyncGenerator<string> {
  let before = '{'
  for await (const [name, value] of members) {
    yield `${before}${JSON.stringify(name)}:`
    yield* value
    before = ','
  }
  yield before === '{' ? '{}' : '}'
}

/** Sends the pieces. Resolves when the caller has received everything or has disconnected. */
export async function sendPieces(
  response: Response,
  { pieces }: JsonPieces,
  isHead: boolean,
  signal: AbortSignal,
): Promise<void> {
  const first = await pieces.next()
  response.status(200).type('json')
  if (isHead) {
    await pieces.return(undefined)
    response.end()
    return
  }
  await pipeline(Readable.from(inChunks(first, pieces), { objectMode: false }), response, { signal }).catch(
    (error: unknown) => {
      // There is no caller left to report the error to.
      if (!signal.aborted) throw error
    },
  )
}

// Minimum number of characters per write.
const chunkLength = 32_768

async function* inChunks(
  first: IteratorResult<string>,
  pieces: AsyncGenerator<string>,
): AsyncGenerator<Buffer> {
  let text = ''
  try {
    for (let piece = first; !piece.done; piece = await pieces.next()) {
      text += piece.value
      if (text.length < chunkLength) continue
      yield Buffer.from(text)
      text = ''
    }
    if (text !== '') yield Buffer.from(text)
  } finally {
    await pieces.return(undefined)
  }
}
