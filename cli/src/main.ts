import { Command, CommanderError } from 'commander'
import { addCommands, exitStatusOf } from './commands/index.ts'

const program = new Command('svc')
  .description(
    'Run a cluster on this machine: router, coordinator, overlord, broker, historicals, and their stores.',
  )
  .usage('<command> [options]')
  .helpCommand('help [command]', 'Show help for a command')
  .showHelpAfterError('Run ./svc <command> --help for usage.')
  .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, 'svc: ')) })
  .exitOverride()
  .addHelpText('after', '\nExit status: 0 success, 1 failure, 2 invalid usage.')
addCommands(program)

// A closed pipe, such as `| head`, is not a failure and no reason to stop a cluster.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
})

try {
  process.exitCode = 0
  await program.parseAsync()
} catch (error) {
  if (error instanceof CommanderError) {
    process.exitCode = error.exitCode === 0 ? 0 : 2
  } else {
    process.exitCode = exitStatusOf(error)
  }
}
