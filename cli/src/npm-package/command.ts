#!/usr/bin/env node
// The command of the package. Everything else is loaded after the version is checked and the compile cache is enabled. The
// import has no names, because an older Node.js would refuse a name that it does not export, before the check.
import nodeModule from 'node:module'
import { environment } from './environment.ts'
import { nodeVersionProblem } from './node-version.ts'

const problem = nodeVersionProblem(process.versions.node)
if (problem !== undefined) {
  process.stderr.write(`svc: ${problem}\n`)
  process.exit(1)
}
Object.assign(process.env, environment())
nodeModule.enableCompileCache(process.env.NODE_COMPILE_CACHE)
await import('./main.ts')
