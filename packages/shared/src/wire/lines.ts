import type { Readable } from 'node:stream'
import { invalidInput } from '@svc/domain/failure'

// Longer lines would use too much memory.
const defaultMaxLineLength = 64 * 1024 * 1024

/**
 * Generates the lines of a UTF-8 text in linear time. Lines end with LF or CRLF only: Node's readline also splits at
 * U+2028 and U+2029, which JSON strings may contain. Throws if a line has more than `longest` characters.
 */
export async function* linesOf(input: Readable, longest = defaultMaxLineLength): AsyncGenerator<string> {
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
    if (length > longest) throw invalidInput(`A line has more than [${longest}] characters`)
  }
  if (length > 0) yield begun.join('')
}
