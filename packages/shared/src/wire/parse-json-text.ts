import { setField } from '@svc/domain/json'
import { finishInSlices } from '../slices/index.ts'
import {
  backslash,
  closeBrace,
  closeBracket,
  comma,
  openBrace,
  openBracket,
  quote,
} from './json-characters.ts'

// Texts up to this length are parsed at once, which takes a few milliseconds.
const maxLengthAtOnce = 64 * 1024

/** How a text is cut, in characters. */
export interface PieceLengths {
  /** Approximate length of members that are parsed together. */
  readonly pieceLength: number
  /** Strings from this length are parsed in pieces, too. */
  readonly minLongStringLength: number
  readonly stringPieceLength: number
}

// Pieces of the most expensive members take a few milliseconds.
const usualLengths: PieceLengths = {
  pieceLength: 16 * 1024,
  minLongStringLength: 1024 * 1024,
  stringPieceLength: 256 * 1024,
}

/** An object or list whose end has not been reached. */
interface OpenContainer {
  isObject: boolean
  /** Index of its first character. */
  openAt: number
  /** Index of the first character of its current member. */
  memberAt: number
  /** Its value, once its members are parsed in pieces, and the index of the first member that is not parsed yet. */
  built: { readonly value: unknown; parsedTo: number; endsWithChild: boolean } | undefined
}

/** Returns a container that begins at `openAt`. It reuses one of `closed`, because a text may contain millions of them. */
function opened(closed: OpenContainer[], isObject: boolean, openAt: number): OpenContainer {
  const container = closed.pop()
  if (!container) return { isObject, openAt, memberAt: openAt + 1, built: undefined }
  container.isObject = isObject
  container.openAt = openAt
  container.memberAt = openAt + 1
  return container
}

/**
 * Returns the value of a JSON text, as `JSON.parse` does, but lets other work run every few milliseconds: a text of
 * many small objects would block for seconds otherwise. Throws a SyntaxError if the text is not valid JSON.
 */
export async function parseJsonText(text: string): Promise<unknown> {
  if (text.length <= maxLengthAtOnce) return JSON.parse(text)
  return await finishInSlices(parseInPieces(text, usualLengths))
}

/** Parses a JSON text with a pause after each piece; returns its value. */
export function* parseInPieces(
  text: string,
  { pieceLength, minLongStringLength, stringPieceLength }: PieceLengths,
): Generator<undefined, unknown> {
  const open: OpenContainer[] = []
  const closed: OpenContainer[] = []
  let parsedTo = 0
  let pauseAt = stringPieceLength
  for (let index = 0; index < text.length; index++) {
    // Spaces and digits can be as long as the text.
    if (index >= pauseAt) {
      pauseAt = index + stringPieceLength
      yield
    }
    const character = text.charCodeAt(index)
    if (character === quote) {
      const nextQuote = unescapedQuote(text, index + 1)
      const end = nextQuote >= 0 ? nextQuote : yield* endOfString(text, index, stringPieceLength)
      const container = open.at(-1)
      const isLong = end - index >= minLongStringLength
      if (isLong && !container) {
        if (!isAlone(text, index, end)) throw invalid(index)
        return yield* parseLongString(text, index, end, stringPieceLength)
      }
      if (isLong && container && !isName(text, container, index)) {
        buildAll(text, open)
        addChild(text, container, index, yield* parseLongString(text, index, end, stringPieceLength))
        parsedTo = end + 1
        endChild(container, end)
      }
      index = end
    } else if (character === openBrace || character === openBracket)
      open.push(opened(closed, character === openBrace, index))
    else if (character === comma) {
      const container = open.at(-1)
      if (!container) throw invalid(index)
      if (container.built?.endsWithChild || index - parsedTo >= pieceLength) {
        buildAll(text, open)
        parseMembers(text, container, index)
        parsedTo = index + 1
        yield
      }
      container.memberAt = index + 1
    } else if (character === closeBrace || character === closeBracket) {
      const container = open.pop()
      if (container?.isObject !== (character === closeBrace)) throw invalid(index)
      const { built } = container
      if (!built) {
        closed.push(container)
        continue
      }
      parsedTo = index + 1
      // An empty list has no members; after a comma there must be one.
      if (built.endsWithChild || container.memberAt > container.openAt + 1)
        parseMembers(text, container, index)
      const parent = open.at(-1)
      if (!parent) {
        if (!isAlone(text, container.openAt, index)) throw invalid(index)
        return built.value
      }
      endChild(parent, index)
      yield
    }
  }
  // Nothing was long enough to be parsed in pieces, or the text ends too early.
  return JSON.parse(text)
}

/**
 * Returns the index of the next quote, or -1 if it may be escaped. Most strings end there, and a generator for each of them
 * would be most of the garbage.
 */
function unescapedQuote(text: string, from: number): number {
  const at = text.indexOf('"', from)
  return at > 0 && text.charCodeAt(at - 1) !== backslash ? at : -1
}

/** Returns the index of the quote that ends the string. Pauses after each piece, because every quote may be an escape. */
function* endOfString(text: string, from: number, pieceLength: number): Generator<undefined, number> {
  let pauseAt = from + pieceLength
  for (let end = text.indexOf('"', from + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let backslashes = 0
    while (text.charCodeAt(end - 1 - backslashes) === backslash) backslashes++
    if (backslashes % 2 === 0) return end
    if (end < pauseAt) continue
    pauseAt = end + pieceLength
    yield
  }
  throw invalid(text.length)
}

/** Whether a string is the name of a field, which has no colon before it. */
const isName = (text: string, { isObject, memberAt }: OpenContainer, index: number): boolean =>
  isObject && !text.slice(memberAt, index).trimEnd().endsWith(':')

/** Parses the string between two quotes in pieces that do not cut an escape. */
function* parseLongString(
  text: string,
  openAt: number,
  closeAt: number,
  maxPiece: number,
): Generator<undefined, string> {
  const pieces: string[] = []
  for (let from = openAt + 1; from < closeAt; ) {
    let to = from
    while (to < closeAt && to - from < maxPiece) {
      const isEscape = text.charCodeAt(to) === backslash
      to += !isEscape ? 1 : text[to + 1] === 'u' ? 6 : 2
    }
    pieces.push(JSON.parse(`"${text.slice(from, Math.min(to, closeAt))}"`))
    from = to
    yield
  }
  return pieces.join('')
}

/** Builds the values of all open containers, each with the members before the one that is open. */
function buildAll(text: string, open: readonly OpenContainer[]): void {
  for (const [depth, container] of open.entries()) {
    if (container.built) continue
    container.built = {
      value: container.isObject ? {} : [],
      parsedTo: container.openAt + 1,
      endsWithChild: false,
    }
    const parent = open[depth - 1]
    if (parent) addChild(text, parent, container.openAt, container.built.value)
  }
}

/** Adds the value that begins at `from` to the container that it is in, after the members before it. */
function addChild(text: string, parent: OpenContainer, from: number, value: unknown): void {
  if (!parent.built) return
  // Two values without a comma between them.
  if (parent.built.endsWithChild) throw invalid(from)
  // The members before this one; its comma is the last character.
  if (parent.memberAt > parent.built.parsedTo) parseMembers(text, parent, parent.memberAt - 1)
  const label = text.slice(parent.memberAt, from)
  if (parent.isObject) {
    const [key, ...others] = Object.keys(JSON.parse(`{${label}0}`))
    if (key === undefined || others.length > 0) throw invalid(parent.memberAt)
    setField(parent.built.value as Record<string, unknown>, key, value)
  } else {
    if (!isBlank(label)) throw invalid(parent.memberAt)
    ;(parent.built.value as unknown[]).push(value)
  }
}

/** Records that a child that was added to the container ends at `at`. */
function endChild({ built }: OpenContainer, at: number): void {
  if (!built) return
  built.parsedTo = at + 1
  built.endsWithChild = true
}

/** Parses the members that have not been parsed, up to the comma or the end at `to`. */
function parseMembers(text: string, { isObject, built }: OpenContainer, to: number): void {
  if (!built) return
  const members = text.slice(built.parsedTo, to)
  // Only spaces may follow a child that was built; in any other case there must be a member.
  if (built.endsWithChild !== isBlank(members)) throw invalid(to)
  if (!built.endsWithChild) {
    if (isObject) {
      const fields = JSON.parse(`{${members}}`) as Record<string, unknown>
      for (const key of Object.keys(fields))
        setField(built.value as Record<string, unknown>, key, fields[key])
    } else {
      for (const item of JSON.parse(`[${members}]`) as unknown[]) (built.value as unknown[]).push(item)
    }
  }
  built.parsedTo = to + 1
  built.endsWithChild = false
}

/** Whether only spaces surround the value between two characters of a text. */
const isAlone = (text: string, first: number, last: number): boolean =>
  isBlank(text.slice(0, first)) && isBlank(text.slice(last + 1))

// No other spaces are allowed in JSON.
const isBlank = (text: string): boolean => /^[ \t\r\n]*$/.test(text)

const invalid = (index: number): SyntaxError => new SyntaxError(`Unexpected character at position ${index}`)
