import type { Command } from 'commander'
import { defaultHome } from '../home/index.ts'
import { collect } from './collect.ts'
import { withHome } from './home-option.ts'

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
  readonly detach?: boolean
  readonly json?: boolean
}

/** Adds `./svc up`. */
export function addUp(program: Command): void {
  const command = program.command('up').description('start the cluster, making what is missing')
  withHome(command)
    .option('--port-offset <n>', 'added to every port: 0, or 1000 and more (default: 0)')
    .option(
      '--historicals <list>',
      'historicals by tier, such as hot=2,_default_tier=3 (default: _default_tier=1)',
    )
    .option(
      '--instances <list>',
      'more of other services, such as coordinator=2,worker=2 (default: 1 of each, no worker)',
    )
    .option('--profile <name>', 'secure: TLS, log-in; plain: none of it (default: secure)')
    .option(
      '--set <name=value>',
      'set a svc.* property; role.name=value sets it for one role (repeatable)',
      collect,
    )
    .option('--admin-password <password>', "the admin's first password (default: a random one)")
    .option('--ldap', 'run a sample LDAP directory too, whose users alice, bob and carol can log in')
    .option('--detach', 'return when the cluster is ready and leave it running')
    .option('--json', 'print what runs as JSON')
    .addHelpText(
      'after',
      `
Without --detach the cluster runs until Ctrl-C, which stops everything.

Examples:
  ./svc up
  ./svc up --historicals hot=2,_default_tier=3,cold=1 --detach
  ./svc up --home /var/tmp/second --port-offset 1000 --profile plain
  ./svc up --set svc.coordinator.period=PT1S --set historical.svc.server.maxSize=1g`,
    )
    .action(async (options: UpOptions) => {
      const home = options.home ?? defaultHome
      if (options.detach) {
        const { runDetached } = await import('./up-detached.ts')
        await runDetached({ ...options, home })
      } else {
        const { runInForeground } = await import('./up-foreground.ts')
        await runInForeground({ ...options, home })
      }
    })
}
