import { parseLines } from 'dot-properties'

/** One property of a `.properties` file, in the order of the file. */
export interface PropertyLine {
  readonly name: string
  readonly value: string
  /** The line of its name, from 1. */
  readonly line: number
  /** The first line in its value that looks like another property or a comment: the line before it ends with a backslash. */
  readonly swallowed?: { readonly line: number; readonly name: string | undefined }
  /**
   * What Java does with a backslash that starts no valid escape: `fails` if `u` without four hexadecimal digits follows, so that
   * it cannot read the file; `ignores` if it reads only the character after it.
   */
  readonly backslash?: 'fails' | 'ignores'
}

/** Returns every property in the text of a `.properties` file; a repeated one appears several times. */
export function propertyLines(text: string): PropertyLine[] {
  let line = 1
  let counted = 0
  return parseLines(text, true).flatMap((node) => {
    if (node.type !== 'PAIR') return []
    const { key, value, range } = node as typeof node & { readonly key: string; readonly value: string }
    for (; counted < range[0]; counted++) if (text[counted] === '\n') line += 1
    const written = text.slice(range[0], range.at(-1))
    const swallowed = swallowedIn(written, line)
    const backslash = backslashIn(written)
    return [{ name: key, value, line, ...(swallowed && { swallowed }), ...(backslash && { backslash }) }]
  })
}

/** A backslash and what it escapes: the hexadecimal digits after `u`, or one other character. */
const escapes = /\\(?:u([\da-fA-F]{0,4})|([^u]))/gs

function backslashIn(written: string): PropertyLine['backslash'] {
  const joined = written.replace(/\\(?:\r\n|\r|\n)[ \t\f]*/g, '')
  const found = [...joined.matchAll(escapes)]
  if (found.some(([, digits]) => digits !== undefined && digits.length < 4)) return 'fails'
  return found.some(([, , character]) => character !== undefined && /[^tnrf\\ :=#!"']/.test(character))
    ? 'ignores'
    : undefined
}

/** The start of a line that sets a property, such as `druid.host=`, or of a comment. */
const ownLine = /^\s*(?:([A-Za-z][\w-]*(?:\.[\w-]+)+)\s*[=:]|[#!])/

function swallowedIn(written: string, first: number): PropertyLine['swallowed'] {
  const lines = written.split(/\r?\n/)
  const index = lines.findIndex((text, at) => at > 0 && ownLine.test(text))
  return index === -1 ? undefined : { line: first + index, name: ownLine.exec(lines[index] as string)?.[1] }
}
