// The command line of the package: all commands except those for developers of svc.
import { addCommands, runCommandLine } from '../commands/index.ts'

await runCommandLine(addCommands)
