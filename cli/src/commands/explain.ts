import type { Command } from 'commander'
import { type ConnectionOptions, connect, withConnection } from '../options/index.ts'
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
    () => '/cluster/explain',
  )
  for (const thing of ['server', 'tier'])
    addSentences(
      explain
        .command(thing)
        .description(`Summarize what a ${thing} has, what it is doing, and what is holding it up`)
        .argument('<name>', `Name of the ${thing}`),
      (name) => `/${thing}s/${encodeURIComponent(name)}/explain`,
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
./svc segments lists the IDs.

Example:
  ./svc explain segment flights_2001-03-01T00:00:00.000Z_2001-03-02T00:00:00.000Z_2026-01-01T00:00:00.000Z`,
    )
    .action(async (id: string, options: ExplainOptions & { readonly datasource?: string }) => {
      const client = await connect(options)
      const { formatExplanation, readExplanation } = await import('../inspection/index.ts')
      const explained = await readExplanation(client, id, options.datasource)
      if (options.json) printJson(explained)
      else process.stdout.write(`${formatExplanation(explained)}\n`)
    })
  withConnection(
    explain
      .command('interval')
      .description('Explain why used segments that overlap an interval are not loaded'),
  )
    .argument('<interval>', 'ISO 8601 interval')
    .requiredOption('--datasource <name>', 'Datasource')
    .option('--json', 'Print JSON')
    .addHelpText(
      'after',
      `
Example:
  ./svc explain interval 2001-03-01/P1W --datasource flights`,
    )
    .action(async (interval: string, options: ExplainOptions & { readonly datasource: string }) => {
      const client = await connect(options)
      const [{ formatIntervalExplanation, readIntervalExplanation }, { checkDatasourceIsKnown }] =
        await Promise.all([import('../inspection/index.ts'), import('../rules/index.ts')])
      await checkDatasourceIsKnown(client, options.datasource)
      const explained = await readIntervalExplanation(client, options.datasource, interval)
      if (options.json) printJson(explained)
      else process.stdout.write(`${formatIntervalExplanation(explained)}\n`)
    })
}

/** Adds the action of a command that prints the sentences of an endpoint. */
function addSentences(command: Command, pathOf: (name: string) => string): void {
  withConnection(command)
    .option('--json', 'Print JSON')
    .action(async (...given: unknown[]) => {
      const name = typeof given[0] === 'string' ? given[0] : ''
      const options = command.opts<ExplainOptions>()
      const client = await connect(options)
      const { readSentences } = await import('../inspection/index.ts')
      const explained = await readSentences(client, pathOf(name))
      if (options.json) printJson(explained)
      else process.stdout.write(`${explained.sentences.map((text) => `${text}.`).join('\n')}\n`)
    })
}
