import { once } from 'node:events'
import type { Readable, Writable } from 'node:stream'
import { unavailable } from '@svc/domain/failure'
import { linesOf } from '@svc/shared/wire'
import { formatSeconds } from '../terminal/index.ts'
import type { SqlAnswer } from './ask-sql.ts'
import { type Cell, ResultTable } from './result-table.ts'

/** How people or programs get an answer. */
export type ShownAs = 'table' | 'json' | 'csv'

// The rows that the widths of columns are taken from; later ones are shown as they come.
const rowsForWidths = 1000

const brokenOff = () => unavailable('The answer broke off; what was shown is not all of it')

async function write(output: Writable, text: string): Promise<void> {
  if (!output.write(text)) await once(output, 'drain')
}

/** Writes an answer; notes for people go to `notes`. Throws an unavailable failure if the answer is not whole. */
export async function showAnswer(
  answer: SqlAnswer,
  shownAs: ShownAs,
  output: Writable,
  notes: Writable,
): Promise<void> {
  if (shownAs === 'table') await showTable(answer, output)
  else await copyWhole(answer, shownAs, output)
  for (const [dataSource, count] of Object.entries(answer.segmentsNotLoaded)) {
    notes.write(
      `Not in the answer: [${count}] segments of datasource [${dataSource}] that no server has loaded; --from-deep-storage reads them as well.\n`,
    )
  }
}

async function showTable({ askedAt, body }: SqlAnswer, output: Writable): Promise<void> {
  let header: readonly string[] | undefined
  let first: Cell[][] = []
  let table: ResultTable | undefined
  let rows = 0
  let isWhole = false
  const begin = async (): Promise<ResultTable> => {
    const begun = new ResultTable(header ?? [], first)
    await write(output, begun.head())
    for (const row of first) await write(output, begun.row(row))
    first = []
    return begun
  }
  for await (const cells of rowsOf(body)) {
    if (cells === undefined) {
      isWhole = true
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
  if (!isWhole) throw brokenOff()
  if (!table) await begin()
  const seconds = formatSeconds(performance.now() - askedAt)
  await write(output, `(${rows} ${rows === 1 ? 'row' : 'rows'}, ${seconds})\n`)
}

/** The rows of an answer, and undefined where it tells that it is whole. Throws where it breaks off. */
async function* rowsOf(body: Readable): AsyncGenerator<Cell[] | undefined> {
  try {
    for await (const line of linesOf(body)) yield line === '' ? undefined : (JSON.parse(line) as Cell[])
  } catch {
    throw brokenOff()
  }
}

/** Copies the answer without the empty line that tells programs that it is whole. */
async function copyWhole({ body }: SqlAnswer, shownAs: 'json' | 'csv', output: Writable): Promise<void> {
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
    throw brokenOff()
  }
  if (!(tail === end || (shownAs === 'csv' && tail === '\n'))) throw brokenOff()
  await write(output, shownAs === 'csv' ? '\n' : tail)
}
