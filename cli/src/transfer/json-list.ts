import type { Readable } from 'node:stream'
import { describeError, Failure, unavailable } from '@svc/domain/failure'
import type { SegmentRow } from './snapshot-source.ts'

/** The elements of a JSON list that may be larger than memory. Throws a Failure where it is no whole JSON list. */
export async function* elementsOf(text: Readable, source: string): AsyncIterable<SegmentRow> {
  const { streamArray } = await import('stream-json/streamers/stream-array.js')
  const elements = streamArray.withParserAsStream()
  text.once('error', (error) => elements.destroy(error))
  text.pipe(elements)
  let row = 0
  try {
    for await (const { value } of elements as AsyncIterable<{ value: unknown }>) {
      row += 1
      yield { row, value }
    }
  } catch (error) {
    if (error instanceof Failure) throw error
    throw unavailable(`The segments of [${source}] break off after [${row}]: ${describeError(error)}`)
  } finally {
    text.destroy()
  }
}
