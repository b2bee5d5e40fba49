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

const tokenForms = [
  /\s+/y,
  /--[^\n]*/y,
  /[eE]'(?:[^'\\]|\\[\s\S]|'')*'/y,
  /'(?:[^']|'')*'/y,
  /"(?:[^"]|"")*"/y,
  /\$([A-Za-z_\x80-\xff][\w\x80-\xff]*)?\$[\s\S]*?\$\1\$/y,
  /[A-Za-z_\x80-\xff][\w$\x80-\xff]*/y,
  /\d[\w.]*/y,
  /[\s\S]/y,
]
const wordForm = /^[A-Za-z_\x80-\xff][\w$\x80-\xff]*$/

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

function tokensOf(text: string): Token[] {
  const tokens: Token[] = []
  for (let start = 0; start < text.length; ) {
    if (text.startsWith('/*', start)) {
      start = commentEnd(text, start)
      continue
    }
    const found = tokenForms
      .map((form) => {
        form.lastIndex = start
        return form.exec(text)?.[0]
      })
      .find((match) => match !== undefined) as string
    const end = start + found.length
    const kind = wordForm.test(found) ? 'word' : 'other'
    if (!/^(\s|--)/.test(found)) tokens.push({ kind, text: found, start, end })
    start = end
  }
  return tokens
}

const opening = new Set(['(', '[', '{'])
const closing = new Set([')', ']', '}'])
const roundedTo = new Set(['floor', 'ceil', 'ceiling'])

/** The text of a query in its tokens, for what DuckDB's parser cannot read or does not tell. Offsets are in bytes. */
export class SqlText {
  // One character a byte.
  private readonly bytes: string
  private readonly tokens: readonly Token[]

  constructor(sql: string) {
    this.bytes = Buffer.from(sql).toString('latin1')
    this.tokens = tokensOf(this.bytes)
  }

  /**
   * The same text, of the same length, with the unit of `FLOOR(… TO unit)` and `CEIL(… TO unit)` as a second argument:
   * a text, which the parser can read.
   */
  withUnitsAsArguments(): string {
    let text = this.bytes
    for (const [index, { kind, text: name }] of this.tokens.entries()) {
      if (kind !== 'word' || !roundedTo.has(name.toLowerCase())) continue
      const last = this.closingOf(index + 1)
      const [to, unit] = last === undefined ? [] : this.tokens.slice(last - 2, last)
      if (to?.kind !== 'word' || to.text.toLowerCase() !== 'to' || unit?.kind !== 'word') continue
      const argument = `,'${unit.text}'`.padEnd(unit.end - to.start)
      text = text.slice(0, to.start) + argument + text.slice(unit.end)
    }
    return Buffer.from(text, 'latin1').toString('utf8')
  }

  /** The name, the arguments and the closing parenthesis of a call that begins at an offset; undefined where none does. */
  callAt(offset: number): { name: Token; arguments: readonly Edit[]; end: number } | undefined {
    const index = this.tokens.findIndex(({ start }) => start === offset)
    const last = index < 0 ? undefined : this.closingOf(index + 1)
    if (last === undefined) return undefined
    const parts: Edit[] = []
    let depth = 0
    let first = index + 2
    for (let at = first; at <= last; at++) {
      const { text } = this.tokens[at] as Token
      if (opening.has(text)) depth += 1
      if ((at === last || (depth === 0 && text === ',')) && at > first) {
        const [start, end] = [this.tokens[first]?.start as number, this.tokens[at - 1]?.end as number]
        parts.push({ start, end, text: this.bytes.slice(start, end) })
      }
      if (at !== last && depth === 0 && text === ',') first = at + 1
      if (closing.has(text)) depth -= 1
    }
    const end = (this.tokens[last] as Token).start
    return { name: this.tokens[index] as Token, arguments: parts, end }
  }

  /** The place of the parenthesis that closes the one at a place among the tokens; undefined where there is none. */
  private closingOf(place: number): number | undefined {
    if (this.tokens[place]?.text !== '(') return undefined
    let depth = 0
    for (let at = place; at < this.tokens.length; at++) {
      const { text } = this.tokens[at] as Token
      if (opening.has(text)) depth += 1
      else if (closing.has(text)) depth -= 1
      if (depth === 0) return at
    }
    return undefined
  }
}

/** A text after its edits, which do not overlap, and how places in it come from places before. */
export function edited(
  sql: string,
  edits: readonly Edit[],
): { readonly text: string; readonly shifts: readonly Shift[] } {
  const bytes = Buffer.from(sql).toString('latin1')
  const shifts: Shift[] = []
  let text = ''
  let from = 0
  for (const edit of [...edits].sort((a, b) => a.start - b.start || a.end - b.end)) {
    const inserted = Buffer.from(edit.text).toString('latin1')
    text += bytes.slice(from, edit.start) + inserted
    from = edit.end
    const difference = inserted.length - (edit.end - edit.start)
    if (difference !== 0) shifts.push({ offset: text.length, bytes: difference })
  }
  return { text: Buffer.from(text + bytes.slice(from), 'latin1').toString('utf8'), shifts }
}

/** Where a place in a changed text was before. */
export function placeBefore(shifts: readonly Shift[], offset: number): number {
  return shifts.reduce((place, shift) => (shift.offset <= offset ? place - shift.bytes : place), offset)
}
