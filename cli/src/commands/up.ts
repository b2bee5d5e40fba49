import { invalidInput } from '@svc/domain/failure'
import type { Command } from 'commander'
import { assertNoFailedImport, defaultHome, homeLayout, isHome } from '../home/index.ts'
import { collect, withHome } from '../options/index.ts'
import { printNotices } from '../output/index.ts'

/** The options of `./svc up` as commander reads them. */
interface UpOptions {
  readonly home?: string
  readonly portOffset?: string
  readonly historicals?: string
  readonly instances?: string
  readonly profile?: string
  readonly set?: readonly string[]
  readonly adminPassword?: string
  readonly ldap?: boolean
  readonly config?: string
  readonly variables?: string
  readonly map?: readonly string[]
  readonly detach?: boolean
  readonly wait?: boolean
  readonly json?: boolean
}

/** Adds `./svc up`. */
export function addUp(program: Command): void {
  const command = program.command('up').description('Start a cluster, creating it if necessary')
  withHome(command)
    .option('--port-offset <n>', 'Offset added to every port (0, or at least 1000; default: 0)')
    .option(
      '--historicals <list>',
      'Number of historicals by tier, for example hot=2,_default_tier=3 (default: _default_tier=1)',
    )
    .option(
      '--instances <list>',
      'Number of instances of other services, for example coordinator=2,worker=2 (default: 1 of each, no workers)',
    )
    .option('--profile <name>', 'Profile: secure (TLS and logins) or plain (neither) (default: secure)')
    .option(
      '--set <name=value>',
      'Set an svc.* property; role.name=value sets it for one role (repeatable)',
      collect,
    )
    .option('--admin-password <password>', 'Initial password of the admin (default: random)')
    .option(
      '--ldap',
      'Also run a sample LDAP directory with the users alice, bob, and carol (passwords: alice-password, bob-password, and carol-password)',
    )
    .option('--config <dir>', 'Druid configuration folder to take the security settings from')
    .option('--variables <file>', 'File with NAME=value lines to add to the environment variables')
    .option(
      '--map <from=to>',
      'Path or address in the configuration, and its replacement (repeatable)',
      collect,
    )
    .option(
      '--detach',
      'Return when every server is ready and has reported to the leader, and leave the cluster running',
    )
    .option('--wait', 'Same as --detach (as in docker compose)')
    .option('--json', 'Print one line of JSON when the cluster is ready')
    .addHelpText(
      'after',
      `
Without --detach, the cluster runs until you press Ctrl-C.
The state of the cluster is known once the leader has a report from every server.
With --config, the cluster does not start if ./svc doctor finds a problem that prevents it.

Examples:
  ./svc up
  ./svc up --historicals hot=2,_default_tier=3,cold=1 --detach
  ./svc up --home /var/tmp/second --port-offset 1000 --profile plain
  ./svc up --detach --json > cluster.json
  ./svc up --config conf/druid/cluster --detach
  ./svc up --set svc.coordinator.period=PT1S --set historical.svc.server.maxSize=1g`,
    )
    .action(async (options: UpOptions) => {
      const home = options.home ?? defaultHome
      const layout = homeLayout(home)
      if (!isHome(layout)) assertNoFailedImport(layout)
      const configured = { ...options, ...(await configuredSecurity(options)), home }
      if (options.detach || options.wait) {
        const { runDetached } = await import('./up-detached.ts')
        await runDetached(configured)
      } else {
        const { runInForeground } = await import('./up-foreground.ts')
        await runInForeground(configured)
      }
    })
}

/** Returns the options that give a cluster the security of a Druid configuration; none without --config. */
async function configuredSecurity(options: UpOptions) {
  const { config: folder, variables, map: maps = [], set = [], profile, ldap } = options
  if (folder === undefined) {
    if (variables !== undefined || maps.length > 0)
      throw invalidInput('Options --variables and --map require --config')
    return {}
  }
  if (profile !== undefined || ldap)
    throw invalidInput('Options --profile and --ldap cannot be used with --config')
  const { environmentWith, examine, refusalText, svcSettings } = await import('../doctor/index.ts')
  const environment = environmentWith(variables)
  const examination = await examine({ folder, environment, maps, isOffline: true, now: Date.now() })
  const refusal = refusalText(examination)
  if (refusal !== undefined) throw invalidInput(refusal)
  const settings = svcSettings(examination)
  printNotices(settings.notices)
  return { profile: settings.profile, set: [...settings.set, ...set], hasOwnSecurity: true }
}
