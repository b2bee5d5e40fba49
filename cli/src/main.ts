// The ./svc command of a checkout.
import { addDev } from './commands/dev.ts'
import { addCommands, runCommandLine } from './commands/index.ts'

// The room of commands does not export those for developers, because the package contains everything that it exports.
await runCommandLine(addCommands, addDev)
