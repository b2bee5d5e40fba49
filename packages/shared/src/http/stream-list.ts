import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { streamed } from './route.ts'

/**
 * Answers with a JSON list that may be larger than memory, some elements at a time, as fast as they are read. The first
 * elements are there before the answer begins, so that what fails until then is answered as an error.
 */
export async function streamList(
  response: ServerResponse,
  parts: AsyncGenerator<readonly unknown[]>,
): Promise<typeof streamed> {
  const first = await parts.next()
  async function* text() {
    let separator = '['
    const textOf = (elements: readonly unknown[]): string => {
      const joined = `${separator}${elements.map((element) => JSON.stringify(element)).join(',')}`
      separator = ','
      return joined
    }
    if (!first.done && first.value.length > 0) yield textOf(first.value)
    for await (const elements of parts) if (elements.length > 0) yield textOf(elements)
    yield separator === '[' ? '[]' : ']'
  }
  response.setHeader('Content-Type', 'application/json; charset=utf-8')
  await pipeline(Readable.from(text()), response)
  return streamed
}
