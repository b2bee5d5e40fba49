import type { Command } from 'commander'
import { exitStatus } from '../exit/index.ts'
import { connect, withConnection } from '../options/index.ts'
import { printJson } from '../output/index.ts'
import { compareOptions, type PartOptions, withParts } from './plan-options.ts'

interface DriftOptions extends PartOptions {
  readonly json?: boolean
}

/** Adds `./svc drift`. */
export function addDrift(program: Command): void {
  withParts(
    withConnection(
      program
        .command('drift')
        .description('Show how a cluster differs from YAML files (exit status 5 if it differs)'),
    ),
  )
    .argument('<dir>', 'Folder with YAML files, or a single YAML file')
    .option('--json', 'Print JSON')
    .addHelpText(
      'after',
      `
Compares only the configuration; ./svc plan also previews the effects. Lines with + are only in the files; lines with -
are only in the cluster.

Example:
  ./svc drift state`,
    )
    .action(async (dir: string, options: DriftOptions) => {
      const room = await import('../plan/index.ts')
      const files = room.readDeclaredFiles(dir)
      const { changes } = await room.compareFiles(await connect(options), files, compareOptions(options))
      if (changes.length > 0) process.exitCode = exitStatus.differs
      if (options.json) {
        printJson(changes)
        return
      }
      if (changes.length === 0) {
        process.stdout.write(`The cluster matches the files in [${dir}].\n`)
        return
      }
      process.stdout.write(`${room.diffText(room.blocksOf(changes)).join('\n')}\n`)
    })
}
