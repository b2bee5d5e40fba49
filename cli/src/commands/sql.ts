import { invalidInput } from '@svc/domain/failure'
import type { Command } from 'commander'
import { accessOf, type ConnectionOptions, existingHome, withConnection } from '../options/index.ts'

interface SqlCommandOptions extends ConnectionOptions {
  readonly json?: boolean
  readonly csv?: boolean
  readonly timeout?: string
  readonly fromDeepStorage?: boolean
}

/** Adds `./svc sql`. */
export function addSql(program: Command): void {
  withConnection(program.command('sql').description('Query a running cluster with SQL'))
    .argument(
      '[query]',
      'SELECT statement (default: show a prompt, or read standard input if it is not a terminal)',
    )
    .option('--json', 'Print JSON (an array of objects)')
    .option('--csv', 'Print CSV with a header line')
    .option('--timeout <seconds>', 'Query timeout in seconds (default: from the broker configuration)')
    .option('--from-deep-storage', 'Also query segments that are only in deep storage')
    .addHelpText(
      'after',
      `
Each datasource is a table. Other tables are sys.segments, sys.servers, sys.server_segments, sys.tasks, sys.supervisors,
and those in INFORMATION_SCHEMA.

Examples:
  ./svc sql
  ./svc sql "SELECT origin, count(*) FROM flights GROUP BY 1 ORDER BY 2 DESC LIMIT 10"
  ./svc sql --csv "SELECT * FROM flights" > flights.csv`,
    )
    .action(async (query: string | undefined, options: SqlCommandOptions) => {
      const { json, csv, timeout, fromDeepStorage = false } = options
      if (json && csv) throw invalidInput('Options --json and --csv cannot be combined')
      if (timeout !== undefined && !/^[1-9]\d{0,5}$/.test(timeout))
        throw invalidInput(
          `Invalid value [${timeout}] for [--timeout]: expected an integer from 1 to 999999, in seconds`,
        )
      const access = await accessOf(options)
      const { querySql, runPrompt, showAnswer } = await import('../sql/index.ts')
      const shownAs = json ? 'json' : csv ? 'csv' : 'table'
      const run = async (text: string, signal: AbortSignal): Promise<void> => {
        const answer = await querySql(
          access,
          {
            query: text,
            resultFormat: json ? 'object' : csv ? 'csv' : 'arrayLines',
            header: !json,
            timeoutMs: timeout === undefined ? undefined : Number(timeout) * 1000,
            fromDeepStorage,
          },
          signal,
        )
        await showAnswer(answer, shownAs, process.stdout, process.stderr)
      }
      if (query === undefined && process.stdin.isTTY) {
        await runPrompt(historyFile(options), run)
        return
      }
      const { text } = await import('node:stream/consumers')
      // Ending this command closes the connection, which cancels the query.
      await run(query ?? (await text(process.stdin)), new AbortController().signal)
    })
}

/** Where the prompt keeps its queries. Those of a cluster at a URL are not kept: they may belong to another user. */
function historyFile({ url, home }: SqlCommandOptions): string | undefined {
  return url === undefined ? existingHome(home).sqlHistory : undefined
}
