import { readFileSync, writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { describeError } from '@svc/domain/failure'

const maxHistory = 500

const help = `End a query with ; (it can have several lines).
  \\d         list tables       \\d NAME    list the columns of a table
  \\?         show this help    \\q         quit (or Ctrl-D)
Ctrl-C cancels the running query, or clears the input.
`

const tables = `SELECT TABLE_SCHEMA AS "schema", TABLE_NAME AS "table" FROM INFORMATION_SCHEMA.TABLES ORDER BY 1 DESC, 2`

const columnsOf = (table: string): string =>
  `SELECT COLUMN_NAME AS "column", DATA_TYPE AS "type" FROM INFORMATION_SCHEMA.COLUMNS
   WHERE TABLE_NAME = '${table.replaceAll("'", "''")}' ORDER BY ORDINAL_POSITION`

/**
 * Runs an interactive prompt. `run` executes a query and is canceled by its signal; its errors are shown. `historyFile`
 * stores the queries, if there is one.
 */
export async function runPrompt(
  historyFile: string | undefined,
  run: (query: string, signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const entries = historyFile === undefined ? [] : readHistory(historyFile)
  let shownHistory: string[] | undefined
  let typed = ''
  let running: AbortController | undefined
  const terminal = createInterface({
    input: process.stdin,
    output: process.stdout,
    prompt: 'sql> ',
    history: [...entries],
    historySize: maxHistory,
    removeHistoryDuplicates: true,
  })
  // All lines of a query become one history entry once the query is complete.
  terminal.on('history', (history) => {
    shownHistory = history
    history.splice(0, history.length, ...entries)
  })
  const remember = (query: string): void => {
    const entry = query.replace(/\s*\n\s*/g, ' ')
    if (entries[0] === entry) return
    entries.unshift(entry)
    entries.splice(maxHistory)
    shownHistory?.splice(0, shownHistory.length, ...entries)
    if (historyFile !== undefined)
      writeFileSync(historyFile, entries.toReversed().join('\n'), { mode: 0o600 })
  }
  let isClosed = false
  // Ctrl-D, even while a query is running.
  terminal.on('close', () => {
    isClosed = true
    running?.abort()
  })
  const prompt = (): void => {
    if (isClosed) return
    terminal.setPrompt(typed === '' ? 'sql> ' : '...> ')
    terminal.prompt()
  }
  const answer = async (query: string): Promise<void> => {
    running = new AbortController()
    try {
      await run(query, running.signal)
    } catch (error) {
      process.stdout.write(running.signal.aborted ? 'Canceled.\n' : `${describeError(error)}\n`)
    } finally {
      running = undefined
    }
  }
  terminal.on('SIGINT', () => {
    if (running) {
      running.abort()
      return
    }
    process.stdout.write(typed === '' && terminal.line === '' ? '\n(Ctrl-D quits)\n' : '\n')
    typed = ''
    terminal.write(null, { ctrl: true, name: 'u' })
    prompt()
  })
  process.stdout.write('End queries with ; and type \\? for help.\n')
  prompt()
  for await (const line of terminal) {
    const command = typed === '' ? line.trim() : ''
    if (command === '\\q' || command === 'exit' || command === 'quit') break
    if (command === '\\?') process.stdout.write(help)
    else if (command === '\\d') await answer(tables)
    else if (command.startsWith('\\d ')) await answer(columnsOf(command.slice(3).trim()))
    else if (command.startsWith('\\'))
      process.stdout.write(`Unknown command [${command}]. Type \\? for help.\n`)
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
    prompt()
  }
  terminal.close()
}

/** The queries of earlier sessions, newest first. */
function readHistory(file: string): string[] {
  try {
    return readFileSync(file, 'utf8').split('\n').filter(Boolean).toReversed().slice(0, maxHistory)
  } catch {
    return []
  }
}
