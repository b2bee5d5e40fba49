import { invalidInput } from '@svc/domain/failure'
import type { RuleJson } from '@svc/domain/rules'
import type { Command } from 'commander'
import { exitStatus } from '../exit/index.ts'
import {
  accessOf,
  type ConnectionOptions,
  connect,
  type FailOnOption,
  failOnOption,
  type OverridePolicyOption,
  overridePolicyOption,
  parsePositiveInteger,
  withConnection,
} from '../options/index.ts'
import { printAnswer, printJson, printMessage, printProgress } from '../output/index.ts'
import type { warningsOfDruid } from '../preview/index.ts'
import type { RulesChange } from '../rules/index.ts'
import {
  allRulesPath,
  bandsOf,
  checkPreviewFormat,
  type PreviewFormat,
  pictureColumns,
  printPreview,
  printWarnings,
  showTimeline,
} from './rules-output.ts'
import { addRevert } from './rules-revert.ts'

interface GetOptions extends ConnectionOptions {
  readonly datasource?: string
  readonly full?: boolean
  readonly json?: boolean
}

interface SetOptions extends ConnectionOptions, OverridePolicyOption {
  readonly datasource: string
  readonly create?: boolean
  readonly markUsed?: boolean
  readonly author?: string
  readonly comment?: string
  readonly json?: boolean
}

interface HistoryOptions extends ConnectionOptions {
  readonly datasource?: string
  readonly count?: string
  readonly json?: boolean
}

interface PreviewCommandOptions extends ConnectionOptions, PreviewFormat, FailOnOption {
  readonly datasource?: string
  readonly horizon?: string
  readonly now?: string
  readonly full?: boolean
  readonly markUsed?: boolean
}

interface DiffOptions extends ConnectionOptions {
  readonly datasource: string
  readonly json?: boolean
}

/** Adds `./svc rules` with its commands. */
export function addRules(program: Command): void {
  const rules = program
    .command('rules')
    .description('Show, preview, and set the retention rules of a running cluster')
  addGet(rules)
  addPreview(rules)
  addDiff(rules)
  addSet(rules)
  addHistory(rules)
  addRevert(rules)
}

function addGet(rules: Command): void {
  withConnection(rules.command('get').description('Show the rules of all datasources, or of one'))
    .option('--datasource <name>', 'Show only this datasource (_default: the cluster defaults)')
    .option('--full', "Also show the cluster default rules, which apply after the datasource's own")
    .option('--json', 'Print JSON (for one datasource, in the format of ./svc rules set)')
    .addHelpText(
      'after',
      `
The first rule that matches a segment applies.

Examples:
  ./svc rules get
  ./svc rules get --datasource flights --full
  ./svc rules get --datasource flights --json > flights-rules.json`,
    )
    .action(async ({ datasource, full, json, ...connection }: GetOptions) => {
      if (full && datasource === undefined) throw invalidInput('Option --full requires --datasource')
      const { checkDatasourceIsKnown, rulesPath, rulesTable } = await import('../rules/index.ts')
      const client = await connect(connection)
      if (datasource === undefined) {
        const all = (await client.send('GET', allRulesPath)) as Record<string, RuleJson[]>
        await printAnswer(json, all, rulesTable(all), 'There are no rules.', { allRows: true })
        return
      }
      const list = (await client.send('GET', `${rulesPath(datasource)}${full ? '?full' : ''}`)) as RuleJson[]
      if (list.length === 0) await checkDatasourceIsKnown(client, datasource)
      const none = `Datasource [${datasource}] has no rules of its own. The cluster defaults apply (--full shows them).`
      await printAnswer(json, list, rulesTable({ [datasource]: list }), none, { allRows: true })
      if (!json) await showTimeline(client, [datasource, list])
    })
}

function addPreview(rules: Command): void {
  withConnection(
    rules.command('preview').description('Preview what rules would do, without changing anything'),
  )
    .argument(
      '<file>',
      'JSON list of rules, rule lists by datasource, or a complete request (- for standard input)',
    )
    .option('--datasource <name>', 'Datasource that the list of rules applies to (default: all datasources)')
    .option('--horizon <period>', 'How far to look ahead, for example P90D (max P10Y)')
    .option('--now <time>', 'Evaluate rules as of this time (default: the cluster time)')
    .option(
      '--mark-used',
      'Also mark segments as used if drop rules marked them as unused and the new rules keep them',
    )
    .option('--full', 'Include the first 10,000 segments (requires --json)')
    .addOption(failOnOption('preview'))
    .option('--html <file>', 'Also write the preview as a self-contained HTML page')
    .option('--markdown', 'Print Markdown, for a change ticket')
    .option('--json', 'Print JSON')
    .addHelpText(
      'after',
      `
To preview rules for a datasource that does not exist yet, use an object: {"name": [rules]}.

Examples:
  ./svc rules preview flights-rules.json --datasource flights
  ./svc rules preview flights-rules.json --datasource flights --horizon P90D
  ./svc rules preview flights-rules.json --datasource flights --fail-on unqueryable,doesNotFit
  ./svc rules preview flights-rules.json --datasource flights --html preview.html
  echo '[{"type":"dropForever"}]' | ./svc rules preview - --datasource _default --json`,
    )
    .action(previewRules)
}

/** Previews the rules in a file. */
async function previewRules(file: string, options: PreviewCommandOptions): Promise<void> {
  checkPreviewFormat(options)
  if (options.full && !options.json) throw invalidInput('Option --full requires --json')
  const [{ checkDatasourceIsKnown, readJson }, room] = await Promise.all([
    import('../rules/index.ts'),
    import('../preview/index.ts'),
  ])
  const json = readJson(file)
  const failOn = options.failOn === undefined ? [] : room.parseFailOn(options.failOn)
  const body = {
    ...room.previewRequestOf(json, options),
    ...(options.markUsed ? { markUsedSince: 0 } : {}),
  }
  const access = await accessOf(options)
  const { clientOf } = await import('../client/index.ts')
  const client = clientOf(access)
  if (options.datasource !== undefined) await checkDatasourceIsKnown(client, options.datasource)
  const page = { buckets: room.bucketsIn(pictureColumns()), full: options.full }
  const answer = await room.previewsOf(client, access, page)(body)
  if (!room.isKnown(answer)) {
    process.exitCode = exitStatus.notKnown
    if (options.json) printJson(answer)
    printMessage(room.unknownReason(answer))
    return
  }
  const reason = room.failureReason(answer, failOn)
  if (reason !== undefined) process.exitCode = exitStatus.refused
  const changed = room.changedListOf(body)
  await printPreview(answer, options, await bandsOf(client, answer, changed))
  if (
    changed?.datasource !== undefined &&
    answer.summary.buckets === undefined &&
    !options.json &&
    !options.markdown
  )
    await showTimeline(client, [changed.datasource, changed.list], { now: answer.now })
  if (reason !== undefined) printMessage(reason)
}

function addDiff(rules: Command): void {
  withConnection(
    rules
      .command('diff')
      .description('Compare the rules of a datasource with a file (exit status 5 if they differ)'),
  )
    .argument('<file>', 'JSON list of rules (- for standard input)')
    .requiredOption('--datasource <name>', 'Datasource (_default: the cluster defaults)')
    .option('--json', 'Print JSON')
    .addHelpText(
      'after',
      `
Example:
  ./svc rules diff flights-rules.json --datasource flights`,
    )
    .action(async (file: string, { datasource, json, ...connection }: DiffOptions) => {
      const room = await import('../rules/index.ts')
      const { formatRule, parseRules } = await import('@svc/domain/rules')
      const after = parseRules(room.readRules(file)).map(formatRule)
      const client = await connect(connection)
      await room.checkDatasourceIsKnown(client, datasource)
      const before = (await client.send('GET', room.rulesPath(datasource))) as RuleJson[]
      const lines = room.diffOfRules(before, after)
      const isSame = lines.every(({ kind }) => kind === 'same')
      process.exitCode = isSame ? exitStatus.done : exitStatus.differs
      if (json) {
        printJson(lines)
        return
      }
      if (isSame) {
        process.stdout.write(`The rules of [${datasource}] are the same as in the file.\n`)
        return
      }
      const signs = { same: ' ', removed: '-', added: '+' }
      for (const { kind, rule } of lines) process.stdout.write(`${signs[kind]} ${JSON.stringify(rule)}\n`)
      process.stdout.write('\nCurrent rules:\n')
      await showTimeline(client, [datasource, before])
      process.stdout.write('\nRules in the file:\n')
      await showTimeline(client, [datasource, after])
    })
}

const createAdvice = 'To set rules before the data arrives, add --create.'

function addSet(rules: Command): void {
  withConnection(rules.command('set').description('Replace all rules of a datasource'))
    .argument('<file>', 'JSON list of rules (- for standard input)')
    .requiredOption('--datasource <name>', 'Datasource (_default: the cluster defaults)')
    .option('--create', 'Set the rules even if the datasource does not exist yet')
    .option(
      '--mark-used',
      'Also mark segments as used if drop rules marked them as unused and the new rules keep them',
    )
    .addOption(overridePolicyOption())
    .option('--author <name>', 'Author for the audit history')
    .option('--comment <text>', 'Comment for the audit history')
    .option('--json', 'Print JSON')
    .addHelpText(
      'after',
      `
The list replaces all rules of the datasource. Rules are evaluated in order.

Examples:
  ./svc rules set flights-rules.json --datasource flights --author me --comment "one month is enough"
  echo '[{"type":"loadByPeriod","period":"P1M"},{"type":"dropForever"}]' | ./svc rules set - --datasource flights`,
    )
    .action(setRules)
}

/** Replaces the rules of a datasource with those in a file. */
async function setRules(
  file: string,
  {
    datasource,
    create,
    markUsed,
    author,
    comment,
    json,
    overridePolicy: overridesPolicy,
    ...connection
  }: SetOptions,
): Promise<void> {
  const room = await import('../rules/index.ts')
  const headers = room.auditHeaders({ author, comment })
  const list = room.readRules(file)
  const access = await accessOf(connection)
  const { clientOf } = await import('../client/index.ts')
  const client = clientOf(access)
  if (!create) await room.checkDatasourceIsKnown(client, datasource, createAdvice)
  if (markUsed) room.checkCanMarkUsed(client)
  const warnings = await room.setRules(client, datasource, list, { headers, overridesPolicy })
  const stored = (await client.send('GET', room.rulesPath(datasource))) as RuleJson[]
  const none = `Datasource [${datasource}] no longer has rules of its own. The cluster defaults apply.`
  await printAnswer(json, stored, room.rulesTable({ [datasource]: stored }), none, { allRows: true })
  if (!json) await showTimeline(client, [datasource, stored])
  printWarnings(client.interfaceName === 'druid' ? await warningsInDruid(access, datasource, list) : warnings)
  if (!markUsed) {
    printWarnings(await room.unusedWarnings(client, datasource, list))
    return
  }
  const marked = await room.markKeptUsed(client, datasource, 0, headers)
  printProgress(room.markedText(marked))
}

async function warningsInDruid(...change: Parameters<typeof warningsOfDruid>): Promise<readonly string[]> {
  const room = await import('../preview/index.ts')
  return await room.warningsOfDruid(...change)
}

function addHistory(rules: Command): void {
  withConnection(rules.command('history').description('Show who changed rules, when, and why, newest first'))
    .option('--datasource <name>', 'Show only changes to this datasource')
    .option('--count <n>', 'Number of changes (default: all changes of the last week)')
    .option('--json', 'Print JSON (includes the rules)')
    .addHelpText(
      'after',
      `
Examples:
  ./svc rules history
  ./svc rules history --datasource flights --count 10`,
    )
    .action(async ({ datasource, count, json, ...connection }: HistoryOptions) => {
      if (count !== undefined) parsePositiveInteger('--count', count, 999_999)
      const { checkDatasourceIsKnown, historyTable, rulesPath } = await import('../rules/index.ts')
      const client = await connect(connection)
      const path = datasource === undefined ? allRulesPath : rulesPath(datasource)
      const query = count === undefined ? '?full' : `?full&count=${count}`
      const answered = (await client.send('GET', `${path}/history${query}`)) as RulesChange[]
      if (datasource !== undefined && answered.length === 0) await checkDatasourceIsKnown(client, datasource)
      // Without a count the interface answers the oldest first.
      const changes = count === undefined ? answered.toReversed() : answered
      const none = count === undefined ? 'No rules were changed in the last week.' : 'No rules were changed.'
      await printAnswer(json, changes, historyTable(changes), none, { allRows: true })
    })
}
