import type { Readable } from 'node:stream'
import { invalidInput } from '@svc/domain/failure'

// Text without a line end that is taken: more would fill the memory.
const usualLongestLine = 64 * 1024 * 1024

/**
 * The lines of a UTF-8 text, in time that grows with the text. Only a line feed ends one, with or without a carriage
 * return before it: Node's readline takes U+2028 and U+2029 for ends too, which JSON may have in its texts. Throws where
 * a line has more than `longest` characters.
 */
export async function* linesOf(input: Readable, longest = usualLongestLine): AsyncGenerator<string> {
  input.setEncoding('utf8')
  let begun: string[] = []
  let length = 0
  for await (const chunk of input as AsyncIterable<string>) {
    let from = 0
    for (let end = chunk.indexOf('\n'); end >= 0; end = chunk.indexOf('\n', from)) {
      const line = begun.join('') + chunk.slice(from, end)
      begun = []
      length = 0
      from = end + 1
      yield line.endsWith('\r') ? line.slice(0, -1) : line
    }
    begun.push(chunk.slice(from))
    length += chunk.length - from
    if (length > longest) throw invalidInput(`A line has more than ${longest} characters`)
  }
  if (length > 0) yield begun.join('')
}
