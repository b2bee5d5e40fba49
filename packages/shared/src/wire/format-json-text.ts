import { jsonListOfTexts, jsonObjectOfTexts } from '@svc/domain/json'
import { finishInSlices } from '../slices/index.ts'

// Formatting this much takes a few milliseconds.
const usualPieceLength = 256 * 1024
// How much a value that is not a string counts.
const valueLength = 16

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
  let untilPause = pieceLength

  function* textOf(one: unknown): Generator<undefined, string> {
    const length = lengthWithin(pieceLength, one)
    if (length > pieceLength && (typeof one === 'string' || (typeof one === 'object' && one !== null))) {
      const text = yield* longTextOf(one)
      // Each container copies the texts in it.
      yield
      return text
    }
    untilPause -= length
    return JSON.stringify(one) ?? 'null'
  }

  function* longTextOf(one: string | object): Generator<undefined, string> {
    if (typeof one === 'string') return yield* longString(one)
    return Array.isArray(one) ? jsonListOfTexts(yield* textsOf(one)) : yield* largeObject(one)
  }

  function* textsOf(values: readonly unknown[]): Generator<undefined, string[]> {
    const texts: string[] = []
    for (const value of values) {
      texts.push(yield* textOf(value))
      if (untilPause > 0) continue
      untilPause = pieceLength
      yield
    }
    return texts
  }

  function* largeObject(object: object): Generator<undefined, string> {
    const fields = Object.entries(object).filter(([, value]) => value !== undefined)
    const texts = yield* textsOf(fields.map(([, value]) => value))
    return jsonObjectOfTexts(fields.map(([name], index) => [name, texts[index]!]))
  }

  function* longString(text: string): Generator<undefined, string> {
    const pieces: string[] = []
    for (let from = 0; from < text.length; ) {
      const to = endOfPiece(text, from + pieceLength)
      pieces.push(JSON.stringify(text.slice(from, to)).slice(1, -1))
      from = to
      yield
    }
    return `"${pieces.join('')}"`
  }

  return yield* textOf(value)
}

/** Returns about how many characters the JSON of a value has, or a larger number than `max` if it has more. */
function lengthWithin(max: number, value: unknown): number {
  if (typeof value === 'string') return value.length
  let length = valueLength
  if (typeof value !== 'object' || value === null) return length
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length && length <= max; index++)
      length += lengthWithin(max - length, value[index])
    return length
  }
  for (const name in value) {
    if (length > max) break
    length += name.length + lengthWithin(max - length, (value as Record<string, unknown>)[name])
  }
  return length
}

/** Returns where a piece of a text ends: at `end`, or one later if the piece would end between the halves of a surrogate pair. */
export const endOfPiece = (text: string, end: number): number =>
  end < text.length && /^[\ud800-\udbff]$/.test(text[end - 1] ?? '') ? end + 1 : end
