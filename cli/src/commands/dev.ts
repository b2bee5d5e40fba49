import type { Command } from 'commander'
import { exitStatus } from '../exit/index.ts'
import { parseHome } from '../options/index.ts'
import { addBench } from './dev-bench.ts'
import { addTest } from './dev-test.ts'
import { addWriting } from './dev-writing.ts'

/** Adds `./svc dev` with its commands for developers of svc. */
export function addDev(program: Command): void {
  const dev = program.command('dev').description('Commands for developing svc')
  dev
    .command('watch')
    .description('Run a cluster whose services restart when their source changes')
    .option('--home <dir>', 'Folder with all state of the cluster (default: .svc next to ./svc)', parseHome)
    .option('--port-offset <n>', 'Offset added to every port: 0, or at least 1000 (default: 0)')
    .option('--profile <name>', 'Profile: secure (TLS and logins) or plain (neither) (default: secure)')
    .action(async (options: { home?: string; portOffset?: string; profile?: string }) => {
      const [{ runInForeground }, { defaultHome }] = await Promise.all([
        import('./up-foreground.ts'),
        import('../home/index.ts'),
      ])
      await runInForeground({ ...options, home: options.home ?? defaultHome, watch: true })
    })
  dev
    .command('check')
    .description(
      'Check types, lint, format, dead code, dependency directions, wording, function length, and generated documents',
    )
    .action(async () => {
      const { runChecks } = await import('../development/index.ts')
      process.exitCode = (await runChecks()) ? exitStatus.done : exitStatus.failed
    })
  dev
    .command('docs')
    .description('Regenerate the documents that are generated from the source')
    .option('--check', 'Only check that they match the source')
    .action(async ({ check }: { check?: boolean }) => {
      const { commandsDocument, outdatedDocuments, writeDocuments } = await import('../development/index.ts')
      const documents = { 'docs/commands.md': commandsDocument(program) }
      if (check) {
        const outdated = await outdatedDocuments(documents)
        if (outdated.length === 0) return
        process.stdout.write(`Not up to date: ${outdated.join(', ')}. Run ./svc dev docs.\n`)
        process.exitCode = exitStatus.failed
        return
      }
      for (const file of await writeDocuments(documents)) process.stdout.write(`Wrote ${file}\n`)
    })
  dev
    .command('console')
    .description('Build the console; ./svc up also builds it when its source has changed')
    .action(async () => {
      const { buildConsole } = await import('../console-build/index.ts')
      await buildConsole()
      process.stdout.write('Built the console. The router serves it at /console/.\n')
    })
  dev
    .command('pack')
    .argument('[folder]', 'Folder for the tarball (default: .cache/package)')
    .description('Create the npm package, including the console')
    .action(async (folder: string | undefined) => {
      const { createPackage } = await import('../development/index.ts')
      process.stdout.write(`${await createPackage(folder)}\n`)
    })
  addWriting(dev)
  addBench(dev)
  addFaults(dev)
  addHostile(dev)
  addComparisons(dev)
  addTest(dev)
}

/** Adds `./svc dev faults`, whose options are parsed by its own program. */
function addFaults(dev: Command): void {
  dev
    .command('faults')
    .description('Inject random faults into entire clusters (reproducible by seed; see --help for options)')
    .argument('[options...]')
    .helpOption(false)
    .allowUnknownOption()
    .action(async (options: readonly string[]) => {
      const { runFaults } = await import('../development/index.ts')
      process.exitCode = await runFaults(options)
    })
}

/** Adds `./svc dev hostile`, whose own program reads the options. */
function addHostile(dev: Command): void {
  dev
    .command('hostile')
    .description('Send hostile test requests to a cluster (see --help for options)')
    .argument('[options...]')
    .helpOption(false)
    .allowUnknownOption()
    .action(async (options: readonly string[]) => {
      const { runHostile } = await import('../development/index.ts')
      process.exitCode = await runHostile(options)
    })
}

/** Adds the comparisons with Druid 37, whose own programs read the options. */
function addComparisons(dev: Command): void {
  const comparisons = [
    {
      name: 'differential',
      description: 'Compare the responses of svc and Druid 37 to the same random requests',
    },
    {
      name: 'plans',
      description:
        'Plan random changes to the entire configuration of Druid 37, apply them, and compare the results with the plans',
    },
    {
      name: 'previews',
      description:
        'Compare previews of random rule changes on imported Druid 37 clusters with the actual results in Druid',
    },
  ] as const
  for (const { name, description } of comparisons) {
    dev
      .command(name)
      .description(`${description} (see --help for options)`)
      .argument('[options...]')
      .helpOption(false)
      .allowUnknownOption()
      .action(async (options: readonly string[]) => {
        const { runComparison } = await import('../development/index.ts')
        process.exitCode = await runComparison(name, options)
      })
  }
}
