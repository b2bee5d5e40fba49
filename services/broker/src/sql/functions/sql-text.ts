/** A token of SQL. White space and comments are not tokens. */
export interface Token {
  readonly kind: 'word' | 'other'
  readonly text: string
  /** In bytes. */
  readonly start: number
  readonly end: number
}

/** A replacement of some bytes of a text. */
export interface Edit {
  readonly start: number
  readonly end: number
  readonly text: string
}

/** Number of bytes that an edit added to a text, and the offset in the edited text at which the edit ends. */
export interface Shift {
  readonly offset: number
  readonly bytes: number
}

// Characters that DuckDB treats as spaces outside strings and comments, in UTF-8.
const wideSpace =
  '(?:\\xc2\\xa0|\\xe2\\x80[\\x80-\\x8d\\xaf]|\\xe2\\x81[\\x9f\\xa0]|\\xe3\\x80\\x80|\\xef\\xbb\\xbf)'
const wideSpaces = new RegExp(`${wideSpace}+`, 'y')
const word = new RegExp(`[A-Za-z_\\x80-\\xff](?:(?!${wideSpace})[\\w$\\x80-\\xff])*`, 'y')
const dollarQuote = /\$(?:[A-Za-z_\x80-\xff][\w\x80-\xff]*)?\$/y
// An unclosed comment or string extends to the end of the text.
const blanks = [/[ \t\n\v\f\r]+/y, /--[^\n\r]*/y]
const quoted = [
  /[eE]'[^'\\]*(?:(?:\\[\s\S]|'')[^'\\]*)*(?:'|\\?$)/y,
  /'[^']*(?:''[^']*)*(?:'|$)/y,
  /"[^"]*(?:""[^"]*)*(?:"|$)/y,
]
const number = /\d+/y

/** Returns the end of a comment that starts at an offset. Comments can be nested. */
function commentEnd(text: string, start: number): number {
  let depth = 0
  for (let at = start; at < text.length; at++) {
    const two = text.slice(at, at + 2)
    if (two === '/*') depth += 1
    else if (two === '*/') depth -= 1
    else continue
    at += 1
    if (depth === 0) return at + 1
  }
  return text.length
}

/** Returns the end of the first match at an offset; undefined if no form matches. */
function endOf(forms: readonly RegExp[], text: string, start: number): number | undefined {
  for (const form of forms) {
    form.lastIndex = start
    if (form.test(text)) return form.lastIndex
  }
  return undefined
}

function dollarQuotedEnd(text: string, start: number): number | undefined {
  const tagEnd = endOf([dollarQuote], text, start)
  if (tagEnd === undefined) return undefined
  const tag = text.slice(start, tagEnd)
  const found = text.indexOf(tag, tagEnd)
  return found < 0 ? text.length : found + tag.length
}

/** Returns the tokens and the wide spaces of a text with one character per byte. */
function tokensOf(text: string): { readonly tokens: readonly Token[]; readonly wide: readonly Edit[] } {
  const tokens: Token[] = []
  const wide: Edit[] = []
  const pastBlank = (start: number): number | undefined => {
    if (text.startsWith('/*', start)) return commentEnd(text, start)
    const end = endOf([wideSpaces], text, start)
    if (end !== undefined) wide.push({ start, end, text: ' '.repeat(end - start) })
    return end ?? endOf(blanks, text, start)
  }
  for (let start = 0; start < text.length; ) {
    const blankEnd = pastBlank(start)
    if (blankEnd !== undefined) {
      start = blankEnd
      continue
    }
    const other = endOf(quoted, text, start) ?? dollarQuotedEnd(text, start)
    const wordEnd = other === undefined ? endOf([word], text, start) : undefined
    const end = other ?? wordEnd ?? endOf([number], text, start) ?? start + 1
    const kind = wordEnd === undefined ? 'other' : 'word'
    tokens.push({ kind, text: text.slice(start, end), start, end })
    start = end
  }
  return { tokens, wide }
}

const opening = new Set(['(', '[', '{'])
const closing = new Set([')', ']', '}'])
const roundedTo = new Set(['floor', 'ceil', 'ceiling'])

/** Returns the positions of closing brackets by the positions of their opening brackets. */
function closingPlaces(tokens: readonly Token[]): ReadonlyMap<number, number> {
  const places = new Map<number, number>()
  const open: number[] = []
  for (const [place, { text }] of tokens.entries()) {
    if (opening.has(text)) open.push(place)
    else if (closing.has(text)) {
      const opened = open.pop()
      if (opened !== undefined) places.set(opened, place)
    }
  }
  return places
}

/**
 * The tokens of a query, for syntax that DuckDB's parser does not support and details that it omits. Offsets are in
 * bytes.
 */
export class SqlText {
  // One character per byte, with plain spaces.
  private readonly bytes: string
  private readonly tokens: readonly Token[]
  private readonly places: ReadonlyMap<number, number>
  private readonly closingByOpening: ReadonlyMap<number, number>

  constructor(sql: string) {
    const bytes = Buffer.from(sql).toString('latin1')
    const { tokens, wide } = tokensOf(bytes)
    this.bytes = editedBytes(bytes, wide).text
    this.tokens = tokens
    this.places = new Map(tokens.map(({ start }, place) => [start, place]))
    this.closingByOpening = closingPlaces(tokens)
  }

  /**
   * Returns a text of the same length that the parser can read: the unit of `FLOOR(… TO unit)` and `CEIL(… TO unit)` is
   * a second argument, a string, and all spaces are plain.
   */
  readable(): string {
    const edits: Edit[] = []
    for (const [index, { kind, text: name }] of this.tokens.entries()) {
      if (kind !== 'word' || !roundedTo.has(name.toLowerCase())) continue
      const last = this.closingOf(index + 1)
      const [to, unit] = last === undefined ? [] : this.tokens.slice(last - 2, last)
      if (to?.kind !== 'word' || to.text.toLowerCase() !== 'to' || unit?.kind !== 'word') continue
      const argument = `,'${unit.text}'`.padEnd(unit.end - to.start)
      edits.push({ start: to.start, end: unit.end, text: argument })
    }
    return Buffer.from(editedBytes(this.bytes, edits).text, 'latin1').toString('utf8')
  }

  /** Returns the token that starts at an offset; undefined if there is none. */
  tokenAt(offset: number): Token | undefined {
    const place = this.places.get(offset)
    return place === undefined ? undefined : this.tokens[place]
  }

  /** Returns the range of the unit and FROM of an EXTRACT that starts at an offset; undefined if there is none. */
  extractedUnitAt(offset: number): Pick<Edit, 'start' | 'end'> | undefined {
    const place = this.places.get(offset)
    if (place === undefined) return undefined
    const [name, parenthesis, unit, from] = this.tokens.slice(place, place + 4)
    if (name?.text.toLowerCase() !== 'extract' || parenthesis?.text !== '(') return undefined
    return unit && from?.text.toLowerCase() === 'from' ? { start: unit.start, end: from.end } : undefined
  }

  /**
   * Returns the name, arguments, and closing parenthesis of a call that starts at an offset; undefined if there is
   * none.
   */
  callAt(offset: number): { name: Token; arguments: readonly Edit[]; end: number } | undefined {
    const index = this.places.get(offset)
    const last = index === undefined ? undefined : this.closingOf(index + 1)
    if (index === undefined || last === undefined) return undefined
    const parts: Edit[] = []
    let first = index + 2
    for (let at = first; at <= last; at++) {
      const isEnd = at === last || this.tokens[at]?.text === ','
      if (isEnd && at > first) {
        const [start, end] = [this.tokens[first]?.start as number, this.tokens[at - 1]?.end as number]
        parts.push({ start, end, text: this.bytes.slice(start, end) })
      }
      if (isEnd) first = at + 1
      at = this.closingByOpening.get(at) ?? at
    }
    const end = (this.tokens[last] as Token).start
    return { name: this.tokens[index] as Token, arguments: parts, end }
  }

  /** Returns the index of the closing parenthesis for an opening one; undefined if there is none. */
  private closingOf(place: number): number | undefined {
    return this.tokens[place]?.text === '(' ? this.closingByOpening.get(place) : undefined
  }
}

/** Applies edits, which must not overlap, to a text. Returns the edited text and how its offsets differ. */
export function edited(
  sql: string,
  edits: readonly Edit[],
): { readonly text: string; readonly shifts: readonly Shift[] } {
  const { text, shifts } = editedBytes(
    Buffer.from(sql).toString('latin1'),
    edits.map((edit) => ({ ...edit, text: Buffer.from(edit.text).toString('latin1') })),
  )
  return { text: Buffer.from(text, 'latin1').toString('utf8'), shifts }
}

/** The same for a text with one character per byte. */
function editedBytes(
  bytes: string,
  edits: readonly Edit[],
): { readonly text: string; readonly shifts: readonly Shift[] } {
  const shifts: Shift[] = []
  const pieces: string[] = []
  let length = 0
  let from = 0
  for (const edit of [...edits].sort((a, b) => a.start - b.start || a.end - b.end)) {
    pieces.push(bytes.slice(from, edit.start), edit.text)
    length += Math.max(edit.start - from, 0) + edit.text.length
    from = edit.end
    const difference = edit.text.length - (edit.end - edit.start)
    if (difference !== 0) shifts.push({ offset: length, bytes: difference })
  }
  pieces.push(bytes.slice(from))
  return { text: pieces.join(''), shifts }
}

/** Returns the original offset for an offset in an edited text. */
export function placeBefore(shifts: readonly Shift[], offset: number): number {
  return shifts.reduce((place, shift) => (shift.offset <= offset ? place - shift.bytes : place), offset)
}
