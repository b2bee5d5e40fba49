import { type Readable, Transform } from 'node:stream'
import { describeError, Failure, unavailable } from '@svc/domain/failure'
import type { SegmentRow } from './snapshot-source.ts'

// No real element is this large; an endless one would fill the memory.
const maxElementBytes = 8 * 1024 * 1024

/** The elements of a JSON list that may be larger than memory. Throws a Failure if the list is invalid or incomplete. */
export async function* elementsOf(text: Readable, source: string): AsyncIterable<SegmentRow> {
  const { streamArray } = await import('stream-json/streamers/stream-array.js')
  const elements = streamArray.withParserAsStream()
  let sinceElementBytes = 0
  const measured = new Transform({
    transform: (chunk: Buffer, _encoding, done) => {
      sinceElementBytes += chunk.length
      if (sinceElementBytes <= maxElementBytes) done(null, chunk)
      else done(new Error(`an element is larger than ${maxElementBytes} bytes`))
    },
  })
  for (const stream of [text, measured]) stream.once('error', (error) => elements.destroy(error))
  text.pipe(measured).pipe(elements)
  let row = 0
  try {
    for await (const { value } of elements as AsyncIterable<{ value: unknown }>) {
      row += 1
      sinceElementBytes = 0
      yield { row, value }
    }
  } catch (error) {
    if (error instanceof Failure) throw error
    throw unavailable(
      `Failed to read the segments of [${source}] after element [${row}]: ${describeError(error)}`,
    )
  } finally {
    text.destroy()
  }
}
