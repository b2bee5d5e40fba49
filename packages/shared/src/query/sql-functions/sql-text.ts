/** A token of SQL; white space and comments are none. */
export interface Token {
  readonly kind: 'word' | 'other'
  readonly text: string
  /** In bytes. */
  readonly start: number
  readonly end: number
}

/** A change of a text: some bytes of it, and what stands there instead. */
export interface Edit {
  readonly start: number
  readonly end: number
  readonly text: string
}

/** Bytes that a changed text has more than the one it was made of, up to an offset in the changed one. */
export interface Shift {
  readonly offset: number
  readonly bytes: number
}

// What DuckDB takes for a space outside of texts and comments, in UTF-8.
const wideSpace =
  '(?:\\xc2\\xa0|\\xe2\\x80[\\x80-\\x8d\\xaf]|\\xe2\\x81[\\x9f\\xa0]|\\xe3\\x80\\x80|\\xef\\xbb\\xbf)'
const wideSpaces = new RegExp(`${wideSpace}+`, 'y')
const word = new RegExp(`[A-Za-z_\\x80-\\xff](?:(?!${wideSpace})[\\w$\\x80-\\xff])*`, 'y')
const dollarQuote = /\$(?:[A-Za-z_\x80-\xff][\w\x80-\xff]*)?\$/y
// What has no end goes to that of the text.
const blanks = [/[ \t\n\v\f\r]+/y, /--[^\n\r]*/y]
const quoted = [
  /[eE]'[^'\\]*(?:(?:\\[\s\S]|'')[^'\\]*)*(?:'|\\?$)/y,
  /'[^']*(?:''[^']*)*(?:'|$)/y,
  /"[^"]*(?:""[^"]*)*(?:"|$)/y,
]
const number = /\d+/y

/** The end of a comment that begins at an offset; comments may hold comments. */
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

/** The end of what one of the forms finds at an offset; undefined where none finds anything. */
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

/** The tokens of a text of one character a byte, and its wide spaces. */
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

/** The places of what closes, by those of what opens. */
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

/** The text of a query in its tokens, for what DuckDB's parser cannot read or does not tell. Offsets are in bytes. */
export class SqlText {
  // One character a byte, with plain spaces.
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
   * The same text, of the same length, as the parser can read it and tells the places in it: with the unit of
   * `FLOOR(… TO unit)` and `CEIL(… TO unit)` as a second argument, a text, and with plain spaces.
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

  /** The word or text at an offset; undefined where none begins there. */
  tokenAt(offset: number): Token | undefined {
    const place = this.places.get(offset)
    return place === undefined ? undefined : this.tokens[place]
  }

  /** The unit and FROM of an EXTRACT that begins at an offset; undefined where none does. */
  extractedUnitAt(offset: number): Pick<Edit, 'start' | 'end'> | undefined {
    const place = this.places.get(offset)
    if (place === undefined) return undefined
    const [name, parenthesis, unit, from] = this.tokens.slice(place, place + 4)
    if (name?.text.toLowerCase() !== 'extract' || parenthesis?.text !== '(') return undefined
    return unit && from?.text.toLowerCase() === 'from' ? { start: unit.start, end: from.end } : undefined
  }

  /** The name, the arguments and the closing parenthesis of a call that begins at an offset; undefined where none does. */
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

  /** The place of the parenthesis that closes the one at a place among the tokens; undefined where there is none. */
  private closingOf(place: number): number | undefined {
    return this.tokens[place]?.text === '(' ? this.closingByOpening.get(place) : undefined
  }
}

/** A text after its edits, which do not overlap, and how places in it come from places before. */
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

/** The same where a character stands for a byte. */
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

/** Where a place in a changed text was before. */
export function placeBefore(shifts: readonly Shift[], offset: number): number {
  return shifts.reduce((place, shift) => (shift.offset <= offset ? place - shift.bytes : place), offset)
}
