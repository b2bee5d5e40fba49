import { invalidInput } from '@svc/domain/failure'
import type { Command } from 'commander'
import type { ClusterClient } from '../client/index.ts'
import { type ConnectionOptions, connect, existingHome, withConnection } from '../options/index.ts'
import { printJson } from '../output/index.ts'

interface ExplainOptions extends ConnectionOptions {
  readonly json?: boolean
}

/** Adds `./svc explain`. */
export function addExplain(program: Command): void {
  const explain = program
    .command('explain')
    .description('Explain what the cluster is doing, and why segments are where they are')
  addSentences(
    explain.command('cluster').description('Summarize what the cluster is doing and what is holding it up'),
    async () => '/cluster/explain',
  )
  const descriptionOf = (thing: string): string =>
    `Explain the state of a ${thing}, what it is doing, and what is holding it up`
  addSentences(
    explain
      .command('server')
      .description(descriptionOf('server'))
      .argument('<name>', 'Host and port of the server, or its instance name, such as historical-1'),
    async (name, options) => `/servers/${encodeURIComponent(await serverNamed(name, options))}/explain`,
  )
  addSentences(
    explain.command('tier').description(descriptionOf('tier')).argument('<name>', 'Name of the tier'),
    async (name) => `/tiers/${encodeURIComponent(name)}/explain`,
  )
  withConnection(
    explain
      .command('segment')
      .description(
        'Explain a segment: the rule that applies, its replicas by tier, why replicas are missing, and what happens next',
      ),
  )
    .argument('<id>', 'ID of the segment')
    .option('--datasource <name>', 'Datasource of the segment (default: derived from the ID)')
    .option('--json', 'Print JSON')
    .addHelpText(
      'after',
      `
./svc segments --json lists the IDs.

Example:
  ./svc explain segment flights_2001-03-01T00:00:00.000Z_2001-03-02T00:00:00.000Z_2026-01-01T00:00:00.000Z`,
    )
    .action(async (id: string, options: ExplainOptions & { readonly datasource?: string }) => {
      assertNamed('id', id)
      const client = await connect(options)
      const { formatExplanation, readExplanation } = await import('../inspection/index.ts')
      const explained = await readExplanation(client, id, options.datasource)
      if (options.json) printJson(explained)
      else process.stdout.write(`${formatExplanation(explained)}\n`)
    })
  addInterval(explain, 'interval', {
    description: 'Explain why segments that overlap an interval are not loaded',
    explained: async (client, dataSource, interval) => {
      const { formatIntervalExplanation, readIntervalExplanation } = await import('../inspection/index.ts')
      const answer = await readIntervalExplanation(client, dataSource, interval)
      return { answer, text: formatIntervalExplanation(answer) }
    },
  })
  addInterval(explain, 'compaction', {
    description: 'Explain why each interval that overlaps a given interval is or is not compacted',
    explained: async (client, dataSource, interval) => {
      const { formatCompactionExplanation, readCompactionExplanation } = await import(
        '../inspection/index.ts'
      )
      const answer = await readCompactionExplanation(client, dataSource, interval)
      return { answer, text: formatCompactionExplanation(answer) }
    },
  })
}

/** Adds the action of a command that prints the sentences of an endpoint. */
function addSentences(
  command: Command,
  pathOf: (name: string, options: ConnectionOptions) => Promise<string>,
): void {
  withConnection(command)
    .option('--json', 'Print JSON')
    .action(async (...given: unknown[]) => {
      // The explanation of the cluster has no name.
      const [first] = given
      if (typeof first === 'string') assertNamed('name', first)
      const name = typeof first === 'string' ? first : ''
      const options = command.opts<ExplainOptions>()
      const client = await connect(options)
      const { readSentences } = await import('../inspection/index.ts')
      const explained = await readSentences(client, await pathOf(name, options))
      if (options.json) printJson(explained)
      else process.stdout.write(`${explained.sentences.map((text) => `${text}.`).join('\n')}\n`)
    })
}

/** An empty part of a path would lead to a path that does not exist. */
function assertNamed(argument: string, value: string): void {
  if (value.trim() === '')
    throw invalidInput(`Invalid value [${value}] for [${argument}]: expected a non-blank string`)
}

/** Only the home knows names such as historical-1; the cluster knows servers by host and port. */
async function serverNamed(name: string, { home, url }: ConnectionOptions): Promise<string> {
  if (url !== undefined) return name
  const { serverNameOf } = await import('../home/index.ts')
  return serverNameOf(existingHome(home), name) ?? name
}

/** Adds a command that explains an interval of a datasource. */
function addInterval(
  explain: Command,
  name: string,
  {
    description,
    explained,
  }: {
    readonly description: string
    explained(
      client: ClusterClient,
      dataSource: string,
      interval: string,
    ): Promise<{ readonly answer: object; readonly text: string }>
  },
): void {
  withConnection(explain.command(name).description(description))
    .argument('<interval>', 'ISO 8601 interval')
    .requiredOption('--datasource <name>', 'Name of the datasource')
    .option('--json', 'Print JSON')
    .addHelpText(
      'after',
      `
Example:
  ./svc explain ${name} 2001-03-01/P1W --datasource flights`,
    )
    .action(async (interval: string, options: ExplainOptions & { readonly datasource: string }) => {
      const client = await connect(options)
      const { checkDatasourceIsKnown } = await import('../rules/index.ts')
      await checkDatasourceIsKnown(client, options.datasource)
      const { answer, text } = await explained(client, options.datasource, interval)
      if (options.json) printJson(answer)
      else process.stdout.write(`${text}\n`)
    })
}
