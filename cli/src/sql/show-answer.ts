import { once } from 'node:events'
import type { Readable, Writable } from 'node:stream'
import { unavailable } from '@svc/domain/failure'
import { linesOf } from '@svc/shared/wire'
import { countOf, formatSeconds } from '../terminal/index.ts'
import type { SqlAnswer } from './query-sql.ts'
import { type Cell, ResultTable } from './result-table.ts'

/** The output format of an answer. */
export type ShownAs = 'table' | 'json' | 'csv'

// The number of rows that determine column widths; later rows are streamed.
const rowsForWidths = 1000

const incomplete = () =>
  unavailable('The connection was closed before the end of the result, so the output is incomplete')

async function write(output: Writable, text: string): Promise<void> {
  if (!output.write(text)) await once(output, 'drain')
}

/** Writes an answer, and notes for the user to `notes`. Throws an unavailable failure if the answer is incomplete. */
export async function showAnswer(
  answer: SqlAnswer,
  shownAs: ShownAs,
  output: Writable,
  notes: Writable,
): Promise<void> {
  if (shownAs === 'table') await showTable(answer, output)
  else await copyAnswer(answer, shownAs, output)
  for (const [dataSource, count] of Object.entries(answer.segmentsNotLoaded)) {
    notes.write(
      `For datasource [${dataSource}], the result excludes ${countOf(count, 'segment')} that no server has loaded. Use --from-deep-storage to include all segments.\n`,
    )
  }
}

async function showTable({ requestedAt, body }: SqlAnswer, output: Writable): Promise<void> {
  let header: readonly string[] | undefined
  let first: Cell[][] = []
  let table: ResultTable | undefined
  let rows = 0
  let isComplete = false
  const begin = async (): Promise<ResultTable> => {
    const begun = new ResultTable(header ?? [], first)
    await write(output, begun.head())
    for (const row of first) await write(output, begun.row(row))
    first = []
    return begun
  }
  for await (const cells of rowsOf(body)) {
    if (cells === undefined) {
      isComplete = true
      break
    }
    if (header === undefined) {
      header = cells.map(String)
      continue
    }
    rows += 1
    if (table) await write(output, table.row(cells))
    else {
      first.push(cells)
      if (first.length === rowsForWidths) table = await begin()
    }
  }
  if (!isComplete) throw incomplete()
  if (!table) await begin()
  const seconds = formatSeconds(performance.now() - requestedAt)
  await write(output, `(${countOf(rows, 'row')}, ${seconds})\n`)
}

/** The rows of an answer, and undefined at its end marker. Throws if the connection is closed early. */
async function* rowsOf(body: Readable): AsyncGenerator<Cell[] | undefined> {
  try {
    for await (const line of linesOf(body)) yield line === '' ? undefined : (JSON.parse(line) as Cell[])
  } catch {
    throw incomplete()
  }
}

/** Copies the answer without the empty line at its end, which marks it as complete. */
async function copyAnswer({ body }: SqlAnswer, shownAs: 'json' | 'csv', output: Writable): Promise<void> {
  const end = shownAs === 'csv' ? '\n\n' : ']\n'
  let tail = ''
  body.setEncoding('utf8')
  try {
    for await (const chunk of body as AsyncIterable<string>) {
      const text = tail + chunk
      tail = text.slice(-2)
      await write(output, text.slice(0, -2))
    }
  } catch {
    throw incomplete()
  }
  if (!(tail === end || (shownAs === 'csv' && tail === '\n'))) throw incomplete()
  await write(output, shownAs === 'csv' ? '\n' : tail)
}
