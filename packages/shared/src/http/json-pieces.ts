import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Response } from 'express'

/**
 * An answer of 200 whose JSON text is sent as it is made, in pieces: as much of it at a time as the caller takes, so
 * that a very long list needs no room here. What fails before the first piece is answered like any failure, what fails
 * later ends the connection. It must hold no names of services: those are not brought into the word of an alias.
 */
export class JsonPieces {
  readonly pieces: AsyncGenerator<string>

  constructor(pieces: AsyncGenerator<string>) {
    this.pieces = pieces
  }
}

/** Texts, as many at a time as they are made together. */
type Pages = AsyncIterable<readonly string[]> | Iterable<readonly string[]>

/** The text of a list whose members come in pages of texts. */
export async function* jsonList(pages: Pages): AsyncGenerator<string> {
  yield* enclosed('[', pages, ']')
}

/** The text of an object whose members, `"name":value`, come in pages of texts. */
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

/** The text of a list of values that are texts in pieces themselves. */
export async function* jsonListOf(members: AsyncIterable<AsyncGenerator<string>>): AsyncGenerator<string> {
  let before = '['
  for await (const member of members) {
    yield before
    yield* member
    before = ','
  }
  yield before === '[' ? '[]' : ']'
}

/** The text of an object of values that are texts in pieces themselves. */
export async function* jsonObjectOf(
  members: AsyncIterable<readonly [name: string, value: AsyncGenerator<string>]>,
): AsyncGenerator<string> {
  let before = '{'
  for await (const [name, value] of members) {
    yield `${before}${JSON.stringify(name)}:`
    yield* value
    before = ','
  }
  yield before === '{' ? '{}' : '}'
}

/** Sends them; resolves when the caller has all, or has left. */
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
      // Nobody is there to be told.
      if (!signal.aborted) throw error
    },
  )
}

// Characters that are handed to the connection at once.
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
