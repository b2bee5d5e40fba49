import { createInterface } from 'node:readline'
import { describeError } from '@svc/domain/failure'
import { maxHistory, openHistory } from './prompt-history.ts'

const help = `End each query with ; (a query can span several lines).
  \\d         list tables       \\d NAME    list the columns of a table
  \\?         show this help    \\q         quit (or Ctrl-D)
Ctrl-C cancels the running query, or clears the input.
`

const tables = `SELECT TABLE_SCHEMA AS "schema", TABLE_NAME AS "table" FROM INFORMATION_SCHEMA.TABLES ORDER BY 1 DESC, 2`

const columnsOf = (table: string): string =>
  `SELECT COLUMN_NAME AS "column", DATA_TYPE AS "type" FROM INFORMATION_SCHEMA.COLUMNS
   WHERE TABLE_NAME = '${table.replaceAll("'", "''")}' ORDER BY ORDINAL_POSITION`

type Run = (query: string, signal: AbortSignal) => Promise<void>

/**
 * Runs an interactive prompt. `run` executes a query and is canceled by its signal; its errors are shown. `historyFile`
 * stores the queries, if there is one.
 */
export async function runPrompt(historyFile: string | undefined, run: Run): Promise<void> {
  const history = openHistory(historyFile)
  const queries = cancelable(run)
  let typed = ''
  let isClosed = false
  const terminal = createInterface({
    input: process.stdin,
    output: process.stdout,
    prompt: 'sql> ',
    history: [...history.entries],
    historySize: maxHistory,
    removeHistoryDuplicates: true,
  })
  history.follow(terminal)
  const prompt = (): void => {
    if (isClosed) return
    terminal.setPrompt(typed === '' ? 'sql> ' : '...> ')
    terminal.prompt()
  }
  // Ctrl-D, even while a query is running.
  terminal.on('close', () => {
    isClosed = true
    queries.cancel()
  })
  terminal.on('SIGINT', () => {
    if (queries.cancel()) return
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
    if (command.startsWith('\\')) await runCommand(command, queries.run)
    else {
      typed += typed === '' ? line : `\n${line}`
      if (typed.trim() === '') typed = ''
      if (typed.trimEnd().endsWith(';')) {
        const query = typed.trim()
        typed = ''
        history.remember(query)
        await queries.run(query)
      }
    }
    prompt()
  }
  terminal.close()
}

/** Runs queries one at a time and shows their errors. `cancel` returns whether a query was running. */
function cancelable(run: Run): { run(query: string): Promise<void>; cancel(): boolean } {
  let running: AbortController | undefined
  return {
    run: async (query) => {
      const current = new AbortController()
      running = current
      try {
        await run(query, current.signal)
      } catch (error) {
        process.stdout.write(current.signal.aborted ? 'Canceled.\n' : `${describeError(error)}\n`)
      } finally {
        running = undefined
      }
    },
    cancel: () => {
      running?.abort()
      return running !== undefined
    },
  }
}

async function runCommand(command: string, run: (query: string) => Promise<void>): Promise<void> {
  if (command === '\\?') process.stdout.write(help)
  else if (command === '\\d') await run(tables)
  else if (command.startsWith('\\d ')) await run(columnsOf(command.slice(3).trim()))
  else process.stdout.write(`Unknown command [${command}]. Type \\? for help.\n`)
}
