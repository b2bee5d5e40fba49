import { type Readable, Transform } from 'node:stream'
import { describeError, Failure, unavailable } from '@svc/domain/failure'
import type { SegmentRow } from './snapshot-source.ts'

// None is so large; one that does not end would fill the memory.
const largestElementBytes = 8 * 1024 * 1024

/** The elements of a JSON list that may be larger than memory. Throws a Failure where it is no whole JSON list. */
export async function* elementsOf(text: Readable, source: string): AsyncIterable<SegmentRow> {
  const { streamArray } = await import('stream-json/streamers/stream-array.js')
  const elements = streamArray.withParserAsStream()
  let sinceElementBytes = 0
  const measured = new Transform({
    transform: (chunk: Buffer, _encoding, done) => {
      sinceElementBytes += chunk.length
      if (sinceElementBytes <= largestElementBytes) done(null, chunk)
      else done(new Error(`one is larger than ${largestElementBytes} bytes`))
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
    throw unavailable(`The segments of [${source}] break off after [${row}]: ${describeError(error)}`)
  } finally {
    text.destroy()
  }
}
