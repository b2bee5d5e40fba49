import { type CompactionStatus, type DescribedPlan, maxWorkerCapacity } from '@svc/domain/compaction'
import { invalidInput } from '@svc/domain/failure'
import type { Command } from 'commander'
import type { ClusterClient } from '../client/index.ts'
import type { AnsweredSchedule, AnsweredVariant, CompactionChange, ListedTask } from '../compaction/index.ts'
import { type ConnectionOptions, connect, parsePositiveInteger, withConnection } from '../options/index.ts'
import { printJson } from '../output/index.ts'
import type { Table } from '../terminal/index.ts'

interface PreviewOptions extends ConnectionOptions {
  readonly schedule?: boolean
  readonly slots?: string
  readonly json?: boolean
}

interface StatusOptions extends ConnectionOptions {
  readonly datasource?: string
  readonly full?: boolean
  readonly json?: boolean
}

interface SetOptions extends ConnectionOptions {
  readonly author?: string
  readonly comment?: string
  readonly json?: boolean
}

interface HistoryOptions extends ConnectionOptions {
  readonly datasource: string
  readonly count?: string
  readonly json?: boolean
}

const base = '/svc/indexer/v1/compaction'

/** Adds `./svc compaction` with its commands. */
export function addCompaction(program: Command): void {
  const compaction = program
    .command('compaction')
    .description('Show, preview, and configure compaction in a running cluster')
  addPreview(compaction)
  addStatus(compaction)
  addSet(compaction)
  addHistory(compaction)
}

function addPreview(compaction: Command): void {
  withConnection(
    compaction.command('preview').description('Preview what would be compacted, and in which order'),
  )
    .argument('<file>', 'JSON overrides (- for standard input)')
    .option(
      '--schedule',
      'Simulate the next runs under each policy, and compare the compaction duty with compaction supervisors',
    )
    .option('--slots <n>', 'Total number of task slots (default: those of the cluster)')
    .option('--json', 'Print JSON')
    .addHelpText(
      'after',
      `
The file contains a datasource configuration, a list of them, the cluster configuration, or an object with
clusterConfig, compactionConfigs, segments, and workerCapacity. Anything the file omits is taken from the cluster. Nothing is changed.

Examples:
  ./svc compaction preview flights-compaction.json
  echo '{"compactionPolicy":{"type":"mostFragmentedFirst"}}' | ./svc compaction preview -
  echo '{}' | ./svc compaction preview - --json
  echo '{"compactionTaskSlotRatio":0.5}' | ./svc compaction preview - --schedule
  echo '{}' | ./svc compaction preview - --schedule --slots 20`,
    )
    .action(async (file: string, { schedule, slots, json, ...connection }: PreviewOptions) => {
      const room = await import('../compaction/index.ts')
      const given = room.previewRequest(room.readJsonFile(file))
      const client = await connect(connection)
      const request = room.withSlots(
        await room.withClusterConfig(client, given),
        slots === undefined ? undefined : parsePositiveInteger('--slots', slots, maxWorkerCapacity),
      )
      if (schedule) return await printSchedule(client, request, json)
      const plan = (await client.send('POST', `${base}/simulate`, request)) as DescribedPlan
      if (json) return printJson(plan)
      await printTables([
        ['Candidates, in order of priority:', room.candidatesTable(plan), 'Nothing needs compaction.'],
        ['Skipped:', room.skippedTable(plan), 'Nothing is skipped.'],
        ['By datasource:', room.sumsTable(plan), 'No datasource has a compaction configuration.'],
      ])
    })
}

/** Prints the schedule of a request: the given configuration if there is one, else that of the cluster. */
async function printSchedule(
  client: ClusterClient,
  request: object,
  json: boolean | undefined,
): Promise<void> {
  const room = await import('../compaction/index.ts')
  const schedule = (await client.send('POST', `${base}/schedule`, request)) as AnsweredSchedule
  if (json) return printJson(schedule)
  const [first, ...others] = schedule.variants as [AnsweredVariant, ...AnsweredVariant[]]
  const shown = others.find(({ name }) => name === 'given') ?? first
  const more = shown.omittedRuns === 0 ? '' : ` (first ${shown.runs.length})`
  await printTables([
    ['Configurations:', room.variantsTable(schedule), ''],
    [
      `Runs with configuration [${shown.name}]${more}:`,
      room.runsTable(shown),
      `Runs with configuration [${shown.name}]: none.`,
    ],
  ])
  for (const variant of others) {
    const lines = room.differenceLines(variant, first)
    const title = `${variant.name}, compared with ${first.name}:`
    process.stdout.write(
      lines.length === 0 ? `\n${title} no differences\n` : `\n${title}\n${lines.join('\n')}\n`,
    )
  }
  const missing = room.missingLines(schedule)
  if (missing.length > 0)
    process.stdout.write(`\nDatasources that the schedule does not contain:\n${missing.join('\n')}\n`)
  process.stdout.write(`\n${room.speedText(schedule)}\n`)
  if (first.slots === 0)
    process.stdout.write(
      'Compaction cannot use any task slots. If the cluster has none, --slots 20 shows the schedule of a cluster with 20.\n',
    )
}

function addStatus(compaction: Command): void {
  withConnection(compaction.command('status').description('Show compaction progress'))
    .option('--datasource <name>', 'Show only this datasource')
    .option('--full', 'Include every interval (requires --json)')
    .option('--json', 'Print JSON')
    .addHelpText(
      'after',
      `
Examples:
  ./svc compaction status
  ./svc compaction status --datasource flights --full --json`,
    )
    .action(async ({ datasource, full, json, ...connection }: StatusOptions) => {
      if (full && !json) throw invalidInput('Option --full requires --json')
      const client = await connect(connection)
      const { loadUnfinishedTasks } = await import('../waiting/index.ts')
      const { compactTaskType } = await import('@svc/domain/compaction')
      const one = datasource === undefined ? '' : `/${encodeURIComponent(datasource)}`
      const status = client.send('GET', `${base}/status/datasources${one}${full ? '?full' : ''}`)
      const lists = await loadUnfinishedTasks<ListedTask>(client, {
        type: compactTaskType,
        dataSource: datasource,
      })
      // A task may start between two of these requests.
      const listed = lists.flatMap((list) => list.tasks)
      const tasks = [...new Map(listed.map((task) => [task.id, task])).values()]
      const { latestStatus } = (await status) as { latestStatus: CompactionStatus[] }
      if (datasource !== undefined && latestStatus.length === 0) {
        const { checkDatasourceIsKnown } = await import('../rules/index.ts')
        await checkDatasourceIsKnown(client, datasource)
      }
      if (json) return printJson({ latestStatus, tasks })
      const [room, { plainBar, solidBar }] = await Promise.all([
        import('../compaction/index.ts'),
        import('../terminal/index.ts'),
      ])
      const bar = process.stdout.isTTY ? solidBar : plainBar
      const none =
        datasource === undefined
          ? 'Auto-compaction is not enabled for any datasource.'
          : `Auto-compaction is not enabled for datasource [${datasource}]: it has no compaction configuration, or its compaction supervisor is suspended.`
      await printTables([
        ['', room.statusTable(latestStatus, bar), none],
        ['Tasks:', room.tasksTable(tasks, bar), 'No compaction tasks are running.'],
      ])
    })
}

function addSet(compaction: Command): void {
  withConnection(
    compaction
      .command('set')
      .description('Set the compaction configuration of datasources or of the cluster'),
  )
    .argument('<file>', 'JSON configuration, or list of datasource configurations (- for standard input)')
    .option('--author <name>', 'Author for the audit history')
    .option('--comment <text>', 'Comment for the audit history')
    .option('--json', 'Print JSON')
    .addHelpText(
      'after',
      `
An object with a dataSource field configures that datasource: fields that it omits are set to their defaults. Any other
object configures the cluster: fields that it omits keep their values.

Examples:
  ./svc compaction set flights-compaction.json --comment "months with rollup"
  echo '{"dataSource":"flights","granularitySpec":{"segmentGranularity":"MONTH"}}' | ./svc compaction set -
  echo '{"useSupervisors":true,"compactionTaskSlotRatio":0.5}' | ./svc compaction set -`,
    )
    .action(async (file: string, { author, comment, json, ...connection }: SetOptions) => {
      const [room, { auditHeaders }, { compactionClusterPath, writeCompactionCluster }] = await Promise.all([
        import('../compaction/index.ts'),
        import('../rules/index.ts'),
        import('../live-state/index.ts'),
      ])
      const configs = room.configsToSet(room.readJsonFile(file))
      const headers = auditHeaders({ author, comment })
      const client = await connect(connection)
      const stored: unknown[] = []
      for (const { dataSource, config } of configs) {
        const path =
          dataSource === undefined
            ? compactionClusterPath
            : `${base}/config/datasources/${encodeURIComponent(dataSource)}`
        if (dataSource === undefined) await writeCompactionCluster(client, config, headers)
        else await client.send('POST', path, config, headers)
        stored.push(await client.send('GET', path))
        if (json) continue
        process.stdout.write(
          dataSource === undefined
            ? 'Updated the compaction configuration of the cluster.\n'
            : `Updated the compaction configuration of [${dataSource}]. ./svc compaction status shows the progress.\n`,
        )
      }
      if (json) printJson(stored.length === 1 ? (stored[0] as object) : stored)
    })
}

function addHistory(compaction: Command): void {
  withConnection(
    compaction
      .command('history')
      .description(
        'Show who changed the compaction configuration of a datasource, when, and why (newest first)',
      ),
  )
    .requiredOption('--datasource <name>', 'Name of the datasource')
    .option('--count <n>', 'Number of changes (default: all)')
    .option('--json', 'Print JSON')
    .addHelpText(
      'after',
      `
Examples:
  ./svc compaction history --datasource flights
  ./svc compaction history --datasource flights --count 10 --json`,
    )
    .action(async ({ datasource, count, json, ...connection }: HistoryOptions) => {
      if (count !== undefined) parsePositiveInteger('--count', count, 999_999)
      const client = await connect(connection)
      const path = `${base}/config/datasources/${encodeURIComponent(datasource)}/history`
      const query = count === undefined ? '' : `?count=${count}`
      const { entries: found } = (await client.send('GET', `${path}${query}`)) as {
        entries: CompactionChange[]
      }
      if (found.length === 0) {
        const { checkDatasourceIsKnown } = await import('../rules/index.ts')
        await checkDatasourceIsKnown(client, datasource)
      }
      // Without a count the interface returns the oldest first.
      const entries = count === undefined ? found.toReversed() : found
      if (json) return printJson(entries)
      const { historyTable } = await import('../compaction/index.ts')
      await printTables([
        ['', historyTable(entries), `Compaction has never been configured for datasource [${datasource}].`],
      ])
    })
}

/** Prints tables with their titles; an empty table prints its explanation instead. */
async function printTables(
  tables: readonly (readonly [title: string, table: Table, none: string])[],
): Promise<void> {
  const { emphasized, formatLongTable } = await import('../terminal/index.ts')
  const texts = tables.map(([title, contents, none]) => {
    if (contents.rows.length === 0) return none
    const table = formatLongTable(contents)
    return title === '' ? table : `${emphasized(title)}\n${table}`
  })
  process.stdout.write(`${texts.join('\n\n')}\n`)
}
