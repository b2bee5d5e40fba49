import { parseLines } from 'dot-properties'

/** One property of a `.properties` file, in the order of the file. */
export interface PropertyLine {
  readonly name: string
  readonly value: string
  /** The line of its name, from 1. */
  readonly line: number
  /** The first line in its value that looks like another property or a comment: the line before it ends with a backslash. */
  readonly swallowed?: { readonly line: number; readonly name: string | undefined }
}

/** Returns every property in the text of a `.properties` file; a repeated one appears several times. */
export function propertyLines(text: string): PropertyLine[] {
  let line = 1
  let counted = 0
  return parseLines(text, true).flatMap((node) => {
    if (node.type !== 'PAIR') return []
    const { key, value, range } = node as typeof node & { readonly key: string; readonly value: string }
    for (; counted < range[0]; counted++) if (text[counted] === '\n') line += 1
    const swallowed = swallowedIn(text.slice(range[0], range.at(-1)), line)
    return [{ name: key, value, line, ...(swallowed && { swallowed }) }]
  })
}

/** The start of a line that sets a property, such as `druid.host=`, or of a comment. */
const ownLine = /^\s*(?:([A-Za-z][\w-]*(?:\.[\w-]+)+)\s*[=:]|[#!])/

function swallowedIn(written: string, first: number): PropertyLine['swallowed'] {
  const lines = written.split(/\r?\n/)
  const index = lines.findIndex((text, at) => at > 0 && ownLine.test(text))
  return index === -1 ? undefined : { line: first + index, name: ownLine.exec(lines[index] as string)?.[1] }
}
