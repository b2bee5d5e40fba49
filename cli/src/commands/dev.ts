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
    .option('--port-offset <n>', 'Offset added to every port (0, or at least 1000; default: 0)')
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
  addPrograms(dev)
  addTest(dev)
}

/** Programs of this repository that read their own options. */
const programs = [
  {
    name: 'faults',
    file: 'test/faults/main.ts',
    description: 'Inject random faults into entire clusters (reproducible by seed; see --help for options)',
  },
  {
    name: 'simulation',
    file: 'test/simulation/main.ts',
    description: 'Simulate clusters with faults in one process, on simulated time (see --help for options)',
  },
  {
    name: 'mutations',
    file: 'test/simulation/mutations/main.ts',
    description:
      'Break the code in known ways, and show that the simulation finds it (see --help for options)',
  },
  {
    name: 'hostile',
    file: 'test/hostile/main.ts',
    description: 'Send hostile test requests to a cluster (see --help for options)',
  },
  {
    name: 'differential',
    file: 'test/druid/differential/main.ts',
    needsJava: true,
    description:
      'Compare the responses of svc and Druid 37 to the same random requests (see --help for options)',
  },
  {
    name: 'plans',
    file: 'test/druid/plans/main.ts',
    needsJava: true,
    description:
      'Plan random changes to the entire configuration of Druid 37, apply them, and compare the results with the plans (see --help for options)',
  },
  {
    name: 'previews',
    file: 'test/druid/previews/main.ts',
    needsJava: true,
    description:
      'Compare previews of random rule changes on imported Druid 37 clusters with the actual results in Druid (see --help for options)',
  },
]

/** Adds the programs that read their own options. */
function addPrograms(dev: Command): void {
  for (const { name, description, file, needsJava = false } of programs)
    dev
      .command(name)
      .description(description)
      .argument('[options...]')
      .helpOption(false)
      .allowUnknownOption()
      .action(async (options: readonly string[]) => {
        const { runProgram } = await import('../development/index.ts')
        process.exitCode = await runProgram(file, options, needsJava)
      })
}
