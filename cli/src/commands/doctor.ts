import { invalidInput } from '@svc/domain/failure'
import type { Command } from 'commander'
import { exitStatus } from '../exit/index.ts'
import { collect } from '../options/index.ts'
import { printJson } from '../output/index.ts'

interface DoctorOptions {
  readonly config?: string
  readonly envFile?: string
  readonly map?: readonly string[]
  readonly offline?: boolean
  readonly json?: boolean
}

/** Adds `./svc doctor`. */
export function addDoctor(program: Command): void {
  program
    .command('doctor')
    .description('Check the security of the configuration folder of a Druid cluster')
    .option('--config <dir>', 'Configuration folder of Druid, for example conf/druid/cluster')
    .option('--env-file <file>', 'File with NAME=value lines, added to the environment variables')
    .option(
      '--map <from=to>',
      'Where a path or address of the configuration is, as seen from here (repeatable)',
      collect,
    )
    .option('--offline', 'Do not connect to directories')
    .option('--json', 'Print JSON')
    .addHelpText(
      'after',
      `
Reads the properties of all servers, opens their key stores and trust stores, and binds and searches in their LDAP
directories. Changes nothing, and prints no password.

Exit status: 0 if there is no error, 4 if there is one.

Examples:
  ./svc doctor --config conf/druid/cluster
  ./svc doctor --config conf/druid/cluster --offline --json
  ./svc doctor --config conf --env-file druid.env --map /opt/druid=. --map ldap.example.com:636=127.0.0.1:3636`,
    )
    .action(async (options: DoctorOptions) => {
      if (options.config === undefined)
        throw invalidInput(
          'Missing value for [--config]: expected the configuration folder of a Druid cluster',
        )
      const { environmentWith, examinationReport, examinationText, examine } = await import(
        '../doctor/index.ts'
      )
      const { config: folder, envFile, map: maps = [], offline: isOffline = false, json } = options
      const environment = environmentWith(envFile)
      const examination = await examine({ folder, environment, maps, isOffline, now: Date.now() })
      if (json) printJson(examinationReport(examination))
      else process.stdout.write(examinationText(examination))
      const isFine = examination.findings.every(({ severity }) => severity !== 'error')
      process.exitCode = isFine ? exitStatus.done : exitStatus.refused
    })
}
