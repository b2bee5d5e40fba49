import { parseLines } from 'dot-properties'

/** One property of a `.properties` file, in the order of the file. */
export interface PropertyLine {
  readonly name: string
  readonly value: string
  /** The line of its name, from 1. */
  readonly line: number
}

/** Returns every property in the text of a `.properties` file; a repeated one appears several times. */
export function propertyLines(text: string): PropertyLine[] {
  let line = 1
  let counted = 0
  return parseLines(text, true).flatMap((node) => {
    if (node.type !== 'PAIR') return []
    const { key, value, range } = node as typeof node & { readonly key: string; readonly value: string }
    for (; counted < range[0]; counted++) if (text[counted] === '\n') line += 1
    return [{ name: key, value, line }]
  })
}
