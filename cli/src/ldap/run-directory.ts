import { readFileSync } from 'node:fs'
import { startDirectory } from './embedded-directory.ts'
import { sampleDirectory } from './sample-directory.ts'

// Run by the supervisor: node run-directory.ts PORT FILE-OF-THE-BIND-PASSWORD
const [port, passwordFile] = process.argv.slice(2) as [string, string]
const directory = await startDirectory(sampleDirectory(readFileSync(passwordFile, 'utf8')), Number(port))
process.once('SIGTERM', () => directory.stop().finally(() => process.exit(0)))
