import type { Command } from 'commander'
import { type ConnectionOptions, connect, withConnection } from '../options/index.ts'
import { printAnswer } from '../output/index.ts'

interface DatasourcesOptions extends ConnectionOptions {
  readonly json?: boolean
}

/** Adds `./svc datasources`. */
export function addDatasources(program: Command): void {
  withConnection(
    program
      .command('datasources')
      .description('Show the datasources: loaded segments, size, time range, and tiers'),
  )
    .option('--json', 'Print JSON')
    .addHelpText(
      'after',
      `
The loaded column shows what percentage of the segments required by rules is loaded. A datasource with only unused
segments is shown as unused.

Examples:
  ./svc datasources
  ./svc datasources --json --url https://cluster.example:9088 --user reader --password-file secret --trust ca.pem`,
    )
    .action(async ({ json, ...connection }: DatasourcesOptions) => {
      const client = await connect(connection)
      const { datasourcesTable, readDatasources } = await import('../inspection/index.ts')
      const datasources = await readDatasources(client)
      await printAnswer(
        json,
        datasources,
        datasourcesTable(datasources),
        'The cluster has no datasources that you can read.',
      )
    })
}
