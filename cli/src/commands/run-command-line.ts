import { readFileSync } from 'node:fs'
import path from 'node:path'
import { interfaceVersion } from '@svc/shared/runtime'
import { Command, CommanderError } from 'commander'
import { exitStatus, exitStatusHelp, exitStatusOf } from '../exit/index.ts'
import { repositoryRoot } from '../home/index.ts'
import { noteClosedOutput } from '../output/index.ts'

/** Runs the command that the arguments of this process name, and sets the exit status. */
export async function runCommandLine(...addCommands: readonly ((program: Command) => void)[]): Promise<void> {
  const program = createProgram()
  for (const add of addCommands) add(program)

  process.exitCode = exitStatus.done
  reportOutputErrors()
  try {
    await program.parseAsync(expandHelp(process.argv.slice(2)), { from: 'user' })
  } catch (error) {
    if (error instanceof CommanderError) {
      process.exitCode = error.exitCode === 0 ? exitStatus.done : exitStatus.invalidInput
    } else {
      process.exitCode = exitStatusOf(error)
    }
  }
}

/** Reports once that the output cannot be written. A closed pipe, such as `| head`, is no failure. Neither stops a cluster. */
function reportOutputErrors(): void {
  let isReported = false
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') noteClosedOutput()
    if (error.code === 'EPIPE' || isReported) return
    isReported = true
    process.stderr.write(`svc: Failed to write the output: ${error.message}\n`)
    process.exitCode = exitStatus.failed
  })
  // Warnings and notices may go to the same closed pipe. There is no other place to report that.
  process.stderr.on('error', () => undefined)
}

function createProgram(): Command {
  return new Command('svc')
    .description(
      'Run a cluster on this machine: router, coordinator, overlord, broker, historicals, Postgres, and Redis.',
    )
    .usage('<command> [options]')
    .version(versionText(), '--version', 'Show the version')
    .helpOption('-h, --help', 'Show help')
    .configureHelp({
      // Commander would print defaults as JSON, with quotes.
      optionDescription: ({ description, defaultValue }) =>
        defaultValue === undefined ? description : `${description} (default: ${defaultValue})`,
      // Commands with subcommands inherit this, but not the description of a help command.
      subcommandDescription: (command) =>
        command.name() === 'help' ? 'Show help for a command' : command.description(),
    })
    .showHelpAfterError('Run ./svc <command> --help for usage.')
    .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, 'svc: ')) })
    .exitOverride()
    .addHelpText('after', firstSteps)
    .addHelpText('after', exitStatusHelp())
}

const firstSteps = `
Examples:
  ./svc demo          See what svc does, in about 15 seconds
  ./svc up --detach   Start a cluster, and leave it running
  ./svc status        See what it is doing`

/** The version of svc, and of the Druid whose management interface it has. */
function versionText(): string {
  const { version } = JSON.parse(readFileSync(path.join(repositoryRoot, 'package.json'), 'utf8')) as {
    version: string
  }
  return `svc ${version} (management interface of Apache Druid ${interfaceVersion})`
}

/** Help of a nested command: `svc help rules preview` means `svc rules preview --help`. */
function expandHelp([first, ...command]: readonly string[]): string[] {
  const isNested = first === 'help' && command.length > 1
  return isNested ? [...command, '--help'] : [first, ...command].filter((word) => word !== undefined)
}
