import type { Command } from 'commander'
import type { ClusterClient } from '../client/index.ts'
import { type ConnectionOptions, connect, withConnection } from '../options/index.ts'
import { isOutputRead, printAnswer } from '../output/index.ts'

interface TiersOptions extends ConnectionOptions {
  readonly watch?: boolean
  readonly json?: boolean
}

const none = 'The cluster has no historicals.'

/** Adds `./svc tiers`. */
export function addTiers(program: Command): void {
  withConnection(
    program.command('tiers').description('Show the servers, replicas, size, and pending loads of each tier'),
  )
    .option('--watch', 'Keep showing changes until you press Ctrl-C')
    .option('--json', 'Print JSON (with --watch: one line for each change)')
    .addHelpText(
      'after',
      `
Columns:
  loading, dropping  number of segments in the load queues
  missing            number of replicas that rules require but no server of the tier has
Empty columns are left out.

Examples:
  ./svc tiers
  ./svc tiers --watch
  ./svc tiers --url https://cluster.example:9088 --user reader --password-file secret --trust ca.pem`,
    )
    .action(async ({ watch, json, ...connection }: TiersOptions) => {
      const client = await connect(connection)
      if (watch) {
        await watchTiers(client, json ?? false)
        return
      }
      const { readTiers, tiersTable } = await import('../inspection/index.ts')
      const tiers = await readTiers(client)
      await printAnswer(json, tiers, tiersTable(tiers), none)
    })
}

/** Shows the tiers whenever they change: in place on a terminal, otherwise below each other. */
async function watchTiers(client: ClusterClient, json: boolean): Promise<void> {
  const [{ readTiers, tiersTable }, { formatLongTable }, { watch }] = await Promise.all([
    import('../inspection/index.ts'),
    import('../terminal/index.ts'),
    import('../waiting/index.ts'),
  ])
  await watch(
    async () => {
      const tiers = await readTiers(client)
      if (json) return JSON.stringify(tiers)
      return tiers.length === 0 ? none : formatLongTable(tiersTable(tiers))
    },
    { out: process.stdout, isRead: isOutputRead, isInPlace: process.stdout.isTTY && !json },
  )
}
