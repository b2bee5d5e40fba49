import { readFileSync, writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { describeError } from '@svc/domain/failure'

const mostHistory = 500

const help = `A query ends with ; and may have several lines.
  \\d         the tables        \\d NAME    the columns of one
  \\?         this help         \\q         leave (or Ctrl-D)
Ctrl-C gives a query up that runs, or forgets what has been typed.
`

const tables = `SELECT TABLE_SCHEMA AS "schema", TABLE_NAME AS "table" FROM INFORMATION_SCHEMA.TABLES ORDER BY 1 DESC, 2`

const columnsOf = (table: string): string =>
  `SELECT COLUMN_NAME AS "column", DATA_TYPE AS "type" FROM INFORMATION_SCHEMA.COLUMNS
   WHERE TABLE_NAME = '${table.replaceAll("'", "''")}' ORDER BY ORDINAL_POSITION`

/**
 * Asks for queries until the person leaves. `run` answers one and is given up by its signal; what it throws is shown.
 * `historyFile` keeps what was asked.
 */
export async function runPrompt(
  historyFile: string,
  run: (query: string, signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const entries = readHistory(historyFile)
  let shownHistory: string[] | undefined
  let typed = ''
  let running: AbortController | undefined
  const terminal = createInterface({
    input: process.stdin,
    output: process.stdout,
    prompt: 'sql> ',
    history: [...entries],
    historySize: mostHistory,
    removeHistoryDuplicates: true,
  })
  // Lines of a query are kept as one entry, which is made when the query is whole.
  terminal.on('history', (history) => {
    shownHistory = history
    history.splice(0, history.length, ...entries)
  })
  const remember = (query: string): void => {
    const entry = query.replace(/\s*\n\s*/g, ' ')
    if (entries[0] === entry) return
    entries.unshift(entry)
    entries.splice(mostHistory)
    shownHistory?.splice(0, shownHistory.length, ...entries)
    writeFileSync(historyFile, entries.toReversed().join('\n'), { mode: 0o600 })
  }
  let isLeft = false
  // Ctrl-D, also while a query runs.
  terminal.on('close', () => {
    isLeft = true
    running?.abort()
  })
  const ask = (): void => {
    if (isLeft) return
    terminal.setPrompt(typed === '' ? 'sql> ' : '...> ')
    terminal.prompt()
  }
  const answer = async (query: string): Promise<void> => {
    running = new AbortController()
    try {
      await run(query, running.signal)
    } catch (error) {
      process.stdout.write(running.signal.aborted ? 'Given up.\n' : `${describeError(error)}\n`)
    } finally {
      running = undefined
    }
  }
  terminal.on('SIGINT', () => {
    if (running) {
      running.abort()
      return
    }
    process.stdout.write(typed === '' && terminal.line === '' ? '\n(Ctrl-D leaves)\n' : '\n')
    typed = ''
    terminal.write(null, { ctrl: true, name: 'u' })
    ask()
  })
  process.stdout.write('Queries end with ; and \\? shows help.\n')
  ask()
  for await (const line of terminal) {
    const command = typed === '' ? line.trim() : ''
    if (command === '\\q' || command === 'exit' || command === 'quit') break
    if (command === '\\?') process.stdout.write(help)
    else if (command === '\\d') await answer(tables)
    else if (command.startsWith('\\d ')) await answer(columnsOf(command.slice(3).trim()))
    else if (command.startsWith('\\')) process.stdout.write(`There is no [${command}]; \\? shows help.\n`)
    else {
      typed += typed === '' ? line : `\n${line}`
      if (typed.trim() === '') typed = ''
      if (typed.trimEnd().endsWith(';')) {
        const query = typed.trim()
        typed = ''
        remember(query)
        await answer(query)
      }
    }
    ask()
  }
  terminal.close()
}

/** The queries of earlier times, the newest first. */
function readHistory(file: string): string[] {
  try {
    return readFileSync(file, 'utf8').split('\n').filter(Boolean).toReversed().slice(0, mostHistory)
  } catch {
    return []
  }
}
