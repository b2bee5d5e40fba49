import { invalidInput } from '@svc/domain/failure'
import type { Command } from 'commander'
import { exitStatus } from '../exit/index.ts'
import { collect } from '../options/index.ts'
import { printJson } from '../output/index.ts'

interface SurroundingsOptions {
  readonly variables?: string
  readonly map?: readonly string[]
  readonly json?: boolean
}

interface DoctorOptions extends SurroundingsOptions {
  readonly config?: string
  readonly offline?: boolean
}

interface DiffOptions extends SurroundingsOptions {
  readonly users?: string
}

/** Adds `./svc doctor` with its command. */
export function addDoctor(program: Command): void {
  const doctor = program
    .command('doctor')
    .description('Check the security settings in the configuration folder of a Druid cluster')
    .option('--config <dir>', 'Configuration folder of Druid, for example conf/druid/cluster')
    .option('--offline', 'Do not connect to directories or servers')
  withSurroundings(doctor)
    .addHelpText(
      'after',
      `
Reads the properties of all servers, opens their key stores and trust stores, binds to and searches their LDAP
directories, and connects to the TLS ports of running servers. It changes nothing and prints no passwords.

Exit status: 0 if there are no errors, 4 if there are any.

Examples:
  ./svc doctor --config conf/druid/cluster
  ./svc doctor --config conf/druid/cluster --offline --json
  ./svc doctor --config conf --variables druid.env --map /opt/druid=. --map ldap.example.com:636=127.0.0.1:3636`,
    )
    .action(checkConfiguration)
  withSurroundings(
    doctor
      .command('diff')
      .description(
        'Show who is locked out, and which permissions users gain or lose, when the configuration changes',
      )
      .argument('<old>', 'Configuration folder of Druid')
      .argument('<new>', 'Changed copy of the configuration folder')
      .option('--users <path>', 'File or folder with users and roles, as written by ./svc pull'),
  )
    .addHelpText(
      'after',
      `
Lists who is locked out (users and servers that can no longer log in, and users who lose all permissions), and who is no longer
locked out. Then compares which endpoints each user can call. Without --users, svc knows only the users that the configuration
creates, and lists all other users of an authenticator as "any other user".

Exit status: 0 if nothing changes, 4 if someone is locked out, 5 if access changes without a lockout.

Examples:
  ./svc doctor diff conf-before conf-after
  ./svc doctor diff conf-before conf-after --users state --json`,
    )
    // The options that doctor also has are parsed as those of doctor.
    .action((before: string, after: string, _options: DiffOptions, command: Command) =>
      showDifferences(before, after, command.optsWithGlobals()),
    )
}

const withSurroundings = (command: Command): Command =>
  command
    .option('--variables <file>', 'File with NAME=value lines to add to the environment variables')
    .option(
      '--map <from=to>',
      'Path or address in the configuration, and its replacement (repeatable)',
      collect,
    )
    .option('--json', 'Print JSON')

async function checkConfiguration(options: DoctorOptions): Promise<void> {
  if (options.config === undefined)
    throw invalidInput('Missing value for [--config]: expected the configuration folder of a Druid cluster')
  const { environmentWith, examinationReport, examinationText, examine } = await import('../doctor/index.ts')
  const { config: folder, variables, map: maps = [], offline: isOffline = false, json } = options
  const environment = environmentWith(variables)
  const examination = await examine({ folder, environment, maps, isOffline, now: Date.now() })
  if (json) printJson(examinationReport(examination))
  else process.stdout.write(examinationText(examination))
  const isFine = examination.findings.every(({ severity }) => severity !== 'error')
  process.exitCode = isFine ? exitStatus.done : exitStatus.refused
}

async function showDifferences(
  oldFolder: string,
  newFolder: string,
  { users, variables, map: maps = [], json }: DiffOptions,
): Promise<void> {
  const doctor = await import('../doctor/index.ts')
  const environment = doctor.environmentWith(variables)
  const examine = (folder: string) =>
    doctor.examine({ folder, environment, maps, isOffline: true, now: Date.now() })
  const known = users === undefined ? doctor.noKnownUsers : doctor.readKnownUsers(users)
  const after = await examine(newFolder)
  const comparison = doctor.compareConfigurations(
    await examine(oldFolder),
    after,
    known,
    await doctor.readEndpoints(),
  )
  if (json) printJson(comparison)
  else process.stdout.write(doctor.comparisonText(comparison, after.configuration.servers.length))
  const { lockouts, recoveries, changes } = comparison
  const isSame = recoveries.length + changes.length === 0
  process.exitCode = lockouts.length > 0 ? exitStatus.refused : isSame ? exitStatus.done : exitStatus.differs
}
