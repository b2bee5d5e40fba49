import { invalidInput } from '@svc/domain/failure'
import type { Command } from 'commander'
import type { AnsweredRule, RulesChange, Table } from '../rules/index.ts'
import { existingHome, withHome } from './home-option.ts'

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

const RULES = '/svc/coordinator/v1/rules'

/** Adds `./svc rules` with its commands. */
export function addRules(program: Command): void {
  const rules = program.command('rules').description('show and set the retention rules of a running cluster')
  addGet(rules)
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
      const client = await connect(home)
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
      const client = await connect(home)
      await setRules(existingHome(home), datasource, list, headers)
      const stored = (await client.send('GET', rulesPath(datasource))) as AnsweredRule[]
      const none = `Datasource [${datasource}] has no rules of its own any more: the cluster's defaults apply.`
      await tell(json, stored, (room) => room.rulesTable({ [datasource]: stored }), none)
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
      if (count !== undefined && !/^[1-9]\d{0,5}$/.test(count)) {
        throw invalidInput(`Option --count has value [${count}], allowed are whole numbers from 1 to 999999`)
      }
      const client = await connect(home)
      const path = datasource === undefined ? RULES : `${RULES}/${encodeURIComponent(datasource)}`
      const query = count === undefined ? '' : `?count=${count}`
      const changes = (await client.send('GET', `${path}/history${query}`)) as RulesChange[]
      const none = count === undefined ? 'No rules were changed in the last week.' : 'No rules were changed.'
      await tell(json, changes, (room) => room.historyTable(changes), none)
    })
}

async function connect(home: string | undefined) {
  const { connectToCluster } = await import('../client/index.ts')
  return connectToCluster(existingHome(home))
}

type RulesRoom = typeof import('../rules/index.ts')

async function tell(
  json: boolean | undefined,
  answer: object,
  tableOf: (room: RulesRoom) => Table,
  none: string,
): Promise<void> {
  if (json) {
    process.stdout.write(`${JSON.stringify(answer, null, 2)}\n`)
    return
  }
  const [room, { formatTable }] = await Promise.all([
    import('../rules/index.ts'),
    import('../terminal/index.ts'),
  ])
  const { header, rows } = tableOf(room)
  process.stdout.write(rows.length === 0 ? `${none}\n` : `${formatTable(header, rows)}\n`)
}
