import type { Readable } from 'node:stream'

// Text without a line end that is taken: more would fill the memory.
const longestLine = 64 * 1024 * 1024

/**
 * The lines of a UTF-8 text. Only a line feed ends one, with or without a carriage return before it: Node's readline
 * takes U+2028 and U+2029 for ends too, which JSON may have in its texts.
 */
export async function* linesOf(input: Readable): AsyncGenerator<string> {
  input.setEncoding('utf8')
  let rest = ''
  for await (const chunk of input as AsyncIterable<string>) {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() as string
    if (rest.length > longestLine) throw new Error(`a line is longer than ${longestLine} characters`)
    for (const line of lines) yield line.endsWith('\r') ? line.slice(0, -1) : line
  }
  if (rest !== '') yield rest
}
