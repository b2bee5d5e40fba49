import { Command, CommanderError } from 'commander'
import { addCommands, exitStatusOf } from './commands/index.ts'

const program = new Command('svc')
  .description(
    'Runs a cluster on this machine: router, coordinator, overlord, broker, historicals and their stores.',
  )
  .usage('<command> [options]')
  .helpCommand('help [command]', 'show the help of a command')
  .showHelpAfterError('Run ./svc <command> --help to see what is allowed.')
  .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, 'svc: ')) })
  .exitOverride()
  .addHelpText('after', '\nExit status: 0 done, 1 failed, 2 wrong usage.')
addCommands(program)

// A reader that went away, such as `| head`, is no failure, and no reason to end a cluster.
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
