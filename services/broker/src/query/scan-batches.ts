import { jsonList } from '@svc/domain/json'

// A batch of many or long rows is sent earlier, so that it does not fill the memory.
const maxBatchSizeBytes = 4 * 2 ** 20

// The columns are repeated in every batch. Beyond this many bytes, a batch has at least as many bytes of rows, whatever
// the batch size: otherwise, a small request could have a response of gigabytes.
const maxRepeatedBytes = 16 * 2 ** 20

/** How rows become batches. */
export interface BatchOptions {
  readonly batchSize: number
  /** The size of the columns, which every batch repeats. */
  readonly headSizeBytes: number
  /** The name of the path in rows that are objects; undefined for rows that are lists. */
  readonly fileColumn: string | undefined
  /** Returns the JSON text of a batch, with one character per byte. */
  readonly batchText: (path: string, events: readonly string[]) => string
}

/**
 * Reads lines of rows that begin with the path of their file, and returns the JSON list of batches of rows of one file.
 * Rows are objects if `fileColumn` is the name of the path in them, otherwise lists.
 */
export async function* batchRows(
  chunks: AsyncIterable<Buffer>,
  options: BatchOptions,
): AsyncGenerator<Buffer> {
  for await (const piece of jsonList(batchesOf(chunks, options))) yield Buffer.from(piece, 'latin1')
}

/** Yields pages of one batch each. */
async function* batchesOf(
  chunks: AsyncIterable<Buffer>,
  { batchSize, headSizeBytes, fileColumn, batchText }: BatchOptions,
): AsyncGenerator<string[]> {
  const isList = fileColumn !== undefined
  const lineStart = isList ? `{"${fileColumn}":` : '['
  let path = ''
  let events: string[] = []
  let sizeBytes = 0
  let repeatableBytes = maxRepeatedBytes
  const flushed = (): string[] => {
    const batch = batchText(path, events)
    repeatableBytes -= Math.max(0, headSizeBytes - sizeBytes)
    events = []
    sizeBytes = 0
    return [batch]
  }
  for await (const line of latin1Lines(chunks)) {
    if (line === '') continue
    // The path is a JSON string without escaped quotes, because this broker generates the file names.
    const pathEnd = line.indexOf('"', lineStart.length + 1)
    const from = line.slice(lineStart.length + 1, pathEnd)
    const isComplete = events.length >= batchSize && headSizeBytes - sizeBytes <= repeatableBytes
    const isFull = isComplete || sizeBytes >= maxBatchSizeBytes
    if (events.length > 0 && (from !== path || isFull)) yield flushed()
    path = from
    const values = line.slice(pathEnd + 1).replace(/^,/, '')
    events.push(`${isList ? '{' : '['}${values}`)
    sizeBytes += values.length
  }
  if (events.length > 0) yield flushed()
}

/** Splits bytes into lines, with one character per byte. */
async function* latin1Lines(chunks: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let begun: string[] = []
  for await (const chunk of chunks) {
    const [first = '', ...others] = chunk.toString('latin1').split('\n')
    begun.push(first)
    const last = others.pop()
    if (last === undefined) continue
    yield begun.join('')
    yield* others
    begun = [last]
  }
  const rest = begun.join('')
  if (rest !== '') yield rest
}
