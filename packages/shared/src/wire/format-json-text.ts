import { finishInSlices } from '../slices/index.ts'

// Formatting this much takes a few milliseconds.
const usualPieceLength = 256 * 1024
const valuesPerPiece = 16 * 1024

/** A value of parsed JSON. */
type JsonContainer = readonly unknown[] | Readonly<Record<string, unknown>>

/**
 * Returns the JSON text of a value that was parsed from JSON, as `JSON.stringify` does, but lets other work run every
 * few milliseconds: a text of 50 MB would block for a third of a second otherwise.
 */
export const formatJsonText = (value: unknown): Promise<string> => finishInSlices(formatInPieces(value))

/** Formats a value as JSON, with a pause after each piece of about `pieceLength` characters; returns the text. */
export function* formatInPieces(
  value: unknown,
  pieceLength: number = usualPieceLength,
): Generator<undefined, string> {
  const pieces: string[] = []
  let values = 0

  function* add(one: unknown): Generator<undefined, void> {
    values += 1
    if (values % valuesPerPiece === 0) yield
    if (typeof one === 'string' && one.length > pieceLength) yield* addLongString(one)
    else if (typeof one === 'object' && one !== null) yield* addContainer(one as JsonContainer)
    else pieces.push(JSON.stringify(one))
  }

  function* addLongString(text: string): Generator<undefined, void> {
    pieces.push('"')
    for (let from = 0; from < text.length; ) {
      const to = endOfPiece(text, from + pieceLength)
      pieces.push(JSON.stringify(text.slice(from, to)).slice(1, -1))
      from = to
      yield
    }
    pieces.push('"')
  }

  function* addContainer(container: JsonContainer): Generator<undefined, void> {
    const isList = Array.isArray(container)
    pieces.push(isList ? '[' : '{')
    for (const [index, [key, member]] of Object.entries(container).entries()) {
      if (index > 0) pieces.push(',')
      if (!isList) pieces.push(`${JSON.stringify(key)}:`)
      yield* add(member)
    }
    pieces.push(isList ? ']' : '}')
  }

  yield* add(value)
  return pieces.join('')
}

/** Does not cut a surrogate pair. */
const endOfPiece = (text: string, end: number): number =>
  end < text.length && /^[\ud800-\udbff]$/.test(text[end - 1] ?? '') ? end + 1 : end
