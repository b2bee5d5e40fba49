import { invalidInput } from '@svc/domain/failure'
import type { Command } from 'commander'
import type { ClusterClient } from '../client/index.ts'
import type { AnsweredPreview, AnsweredRule, RulesChange, Table } from '../rules/index.ts'
import { connectToHome, existingHome, withHome } from './home-option.ts'
import { printJson } from './print.ts'
import { parseWholeNumber } from './whole-number.ts'

interface GetOptions {
  readonly home?: string
  readonly datasource?: string
  readonly full?: boolean
  readonly json?: boolean
}

interface SetOptions {
  readonly home?: string
  readonly datasource: string
  readonly author?: string
  readonly comment?: string
  readonly json?: boolean
}

interface HistoryOptions {
  readonly home?: string
  readonly datasource?: string
  readonly count?: string
  readonly json?: boolean
}

interface PreviewCommandOptions {
  readonly home?: string
  readonly datasource?: string
  readonly horizon?: string
  readonly now?: string
  readonly full?: boolean
  readonly json?: boolean
}

interface DiffOptions {
  readonly home?: string
  readonly datasource: string
  readonly json?: boolean
}

const RULES = '/svc/coordinator/v1/rules'

/** Adds `./svc rules` with its commands. */
export function addRules(program: Command): void {
  const rules = program
    .command('rules')
    .description('show, preview and set the retention rules of a running cluster')
  addGet(rules)
  addPreview(rules)
  addDiff(rules)
  addSet(rules)
  addHistory(rules)
}

function addGet(rules: Command): void {
  withHome(rules.command('get').description('show the rules of all datasources, or of one'))
    .option('--datasource <name>', 'only the rules of this one (_default: the defaults of the cluster)')
    .option('--full', "with the cluster's defaults that follow them")
    .option('--json', 'print them as JSON, as ./svc rules set takes them for one datasource')
    .addHelpText(
      'after',
      `
The first rule that applies to a segment counts.

Examples:
  ./svc rules get
  ./svc rules get --datasource flights --full
  ./svc rules get --datasource flights --json > flights-rules.json`,
    )
    .action(async ({ home, datasource, full, json }: GetOptions) => {
      if (full && datasource === undefined) throw invalidInput('Option --full needs --datasource')
      const client = await connectToHome(home)
      if (datasource === undefined) {
        const all = (await client.send('GET', RULES)) as Record<string, AnsweredRule[]>
        await tell(json, all, (room) => room.rulesTable(all), 'There are no rules.')
        return
      }
      const list = (await client.send(
        'GET',
        `${RULES}/${encodeURIComponent(datasource)}${full ? '?full' : ''}`,
      )) as AnsweredRule[]
      const none = `Datasource [${datasource}] has no rules of its own: the cluster's defaults apply (--full shows them).`
      await tell(json, list, (room) => room.rulesTable({ [datasource]: list }), none)
      if (!json) await showTimeline(client, [datasource, list])
    })
}

function addPreview(rules: Command): void {
  withHome(rules.command('preview').description('tell what rules would do, and change nothing'))
    .argument(
      '<file>',
      'a JSON list of rules, lists by datasource, or a whole request; - reads standard input',
    )
    .option('--datasource <name>', 'the datasource that the list is for (default: for all of them)')
    .option('--horizon <period>', 'look ahead so far, such as P90D, at most P10Y')
    .option('--now <time>', 'as of this time instead of that of the cluster')
    .option('--full', 'with --json: the segments too, the first 10000')
    .option('--json', 'print the whole answer as JSON')
    .addHelpText(
      'after',
      `
Rules of a datasource that the cluster does not know yet are looked at as an object: {"name": [rules]}.

Examples:
  ./svc rules preview flights-rules.json --datasource flights
  ./svc rules preview flights-rules.json --datasource flights --horizon P90D
  echo '[{"type":"dropForever"}]' | ./svc rules preview - --datasource _default --json`,
    )
    .action(async (file: string, options: PreviewCommandOptions) => {
      const room = await import('../rules/index.ts')
      const json = room.readJson(file)
      const body = room.previewRequestOf(json, options)
      const client = await connectToHome(options.home)
      if (options.datasource !== undefined) await room.checkDatasourceIsKnown(client, options.datasource)
      const query = options.full ? '?full&limit=10000' : ''
      const answer = (await client.send('POST', `${RULES}/simulate${query}`, body)) as AnsweredPreview
      if (options.json) {
        printJson(answer)
        return
      }
      const { formatTable } = await import('../terminal/index.ts')
      const parts = [room.previewTable(answer), room.tiersTable(answer), room.stepsTable(answer)]
        .filter(({ rows }) => rows.length > 0)
        .map(({ header, rows }) => formatTable(header, rows))
      if (parts.length === 0) parts.push('No segments are concerned.')
      process.stdout.write(`As of ${answer.now}:\n\n${parts.join('\n\n')}\n`)
      if (Array.isArray(json) && options.datasource !== undefined)
        await showTimeline(client, [options.datasource, json], {
          now: answer.now,
          data: room.keptRange(answer),
        })
      tellWarnings(answer.warnings.map(({ message }) => message))
    })
}

function addDiff(rules: Command): void {
  withHome(
    rules
      .command('diff')
      .description('compare the rules of a datasource with those of a file (exit status 1 when they differ)'),
  )
    .argument('<file>', 'a JSON list of rules; - reads standard input')
    .requiredOption('--datasource <name>', 'the datasource (_default: the defaults of the cluster)')
    .option('--json', 'print the differences as JSON')
    .addHelpText(
      'after',
      `
Example:
  ./svc rules diff flights-rules.json --datasource flights`,
    )
    .action(async (file: string, { home, datasource, json }: DiffOptions) => {
      const room = await import('../rules/index.ts')
      const { formatRule, parseRules } = await import('@svc/domain/rules')
      const after = parseRules(room.readRules(file)).map(formatRule) as AnsweredRule[]
      const client = await connectToHome(home)
      const before = (await client.send('GET', room.rulesPath(datasource))) as AnsweredRule[]
      const lines = room.diffOfRules(before, after)
      const isSame = lines.every(({ kind }) => kind === 'same')
      process.exitCode = isSame ? 0 : 1
      if (json) {
        printJson(lines)
        return
      }
      if (isSame) {
        process.stdout.write(`The rules of [${datasource}] are those of the file.\n`)
        return
      }
      const signs = { same: ' ', removed: '-', added: '+' }
      for (const { kind, rule } of lines) process.stdout.write(`${signs[kind]} ${JSON.stringify(rule)}\n`)
      process.stdout.write('\nNow:\n')
      await showTimeline(client, [datasource, before])
      process.stdout.write('\nWith the file:\n')
      await showTimeline(client, [datasource, after])
    })
}

function addSet(rules: Command): void {
  withHome(rules.command('set').description('replace all rules of a datasource'))
    .argument('<file>', 'a JSON list of rules; - reads standard input')
    .requiredOption(
      '--datasource <name>',
      'the datasource whose rules they become (_default: the defaults of the cluster)',
    )
    .option('--author <name>', 'who changes them, for the history')
    .option('--comment <text>', 'why, for the history')
    .option('--json', 'print the rules as they are stored as JSON')
    .addHelpText(
      'after',
      `
The list is complete and in order: it replaces all rules that the datasource had.

Examples:
  ./svc rules set flights-rules.json --datasource flights --author me --comment "one month is enough"
  echo '[{"type":"loadByPeriod","period":"P1M"},{"type":"dropForever"}]' | ./svc rules set - --datasource flights`,
    )
    .action(async (file: string, { home, datasource, author, comment, json }: SetOptions) => {
      const { auditHeaders, readRules, rulesPath, setRules } = await import('../rules/index.ts')
      const headers = auditHeaders({ author, comment })
      const list = readRules(file)
      const client = await connectToHome(home)
      const warnings = await setRules(existingHome(home), datasource, list, headers)
      const stored = (await client.send('GET', rulesPath(datasource))) as AnsweredRule[]
      const none = `Datasource [${datasource}] has no rules of its own any more: the cluster's defaults apply.`
      await tell(json, stored, (room) => room.rulesTable({ [datasource]: stored }), none)
      if (!json) await showTimeline(client, [datasource, stored])
      tellWarnings(warnings)
    })
}

function addHistory(rules: Command): void {
  withHome(rules.command('history').description('show who changed rules, when and why, newest first'))
    .option('--datasource <name>', 'only changes of the rules of this one')
    .option('--count <n>', 'as many of the last changes (default: those of the last week)')
    .option('--json', 'print them as JSON, with the rules')
    .addHelpText(
      'after',
      `
Examples:
  ./svc rules history
  ./svc rules history --datasource flights --count 10`,
    )
    .action(async ({ home, datasource, count, json }: HistoryOptions) => {
      if (count !== undefined) parseWholeNumber('--count', count, 999_999)
      const client = await connectToHome(home)
      const path = datasource === undefined ? RULES : `${RULES}/${encodeURIComponent(datasource)}`
      const query = count === undefined ? '' : `?count=${count}`
      const answered = (await client.send('GET', `${path}/history${query}`)) as RulesChange[]
      // Without a count the interface answers the oldest first.
      const changes = count === undefined ? answered.toReversed() : answered
      const none = count === undefined ? 'No rules were changed in the last week.' : 'No rules were changed.'
      await tell(json, changes, (room) => room.historyTable(changes), none)
    })
}

/** Warnings go where errors go, so that what is printed can be read on by others. */
function tellWarnings(messages: readonly string[]): void {
  for (const message of messages) process.stderr.write(`svc: warning: ${message}\n`)
}

const WIDEST_PICTURE = 120

/** Shows what a list of rules wants at which time, the defaults of the cluster behind it. */
async function showTimeline(
  client: ClusterClient,
  [datasource, list]: readonly [string, readonly unknown[]],
  shown: { readonly now?: string; readonly data?: { start: string; end: string } | undefined } = {},
): Promise<void> {
  const [{ timelinePicture }, { parseRules, defaultRule }, { parseInstant }] = await Promise.all([
    import('../rules/index.ts'),
    import('@svc/domain/rules'),
    import('@svc/domain/time'),
  ])
  const now = shown.now ?? (await timeOf(client))
  const defaults = datasource === '_default' ? [] : parseRules(await client.send('GET', `${RULES}/_default`))
  const lines = timelinePicture({
    rules: [...parseRules(list), ...defaults, defaultRule],
    now: parseInstant(now),
    data: shown.data && { start: parseInstant(shown.data.start), end: parseInstant(shown.data.end) },
    columns: Math.min(process.stdout.columns ?? WIDEST_PICTURE, WIDEST_PICTURE),
  })
  process.stdout.write(`\n${lines.join('\n')}\n`)
}

/** The time of the cluster, which need not be that of this machine: a preview of nothing tells it. */
async function timeOf(client: ClusterClient): Promise<string> {
  const nothing = { rules: {}, segments: [], servers: [] }
  return ((await client.send('POST', `${RULES}/simulate`, nothing)) as AnsweredPreview).now
}

type RulesRoom = typeof import('../rules/index.ts')

async function tell(
  json: boolean | undefined,
  answer: object,
  tableOf: (room: RulesRoom) => Table,
  none: string,
): Promise<void> {
  if (json) {
    printJson(answer)
    return
  }
  const [room, { formatTable }] = await Promise.all([
    import('../rules/index.ts'),
    import('../terminal/index.ts'),
  ])
  const { header, rows } = tableOf(room)
  process.stdout.write(rows.length === 0 ? `${none}\n` : `${formatTable(header, rows)}\n`)
}
