// The ./svc command of a checkout.
import { addDev } from './commands/dev.ts'
import { addCommands, runCommandLine } from './commands/index.ts'

// The folder `commands` does not export the commands for developers, because the package contains everything that it
// exports.
await runCommandLine(addCommands, addDev)
