#!/usr/bin/env node
// The command of the package. Everything else is loaded after the compile cache is enabled.
import { enableCompileCache } from 'node:module'
import { environment } from './environment.ts'

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < 22 || (major === 22 && minor < 18)) {
  process.stderr.write(
    `svc: Node.js 22.18 or newer is required, but the current version is [${process.versions.node}]. Get a newer version from https://nodejs.org/en/download\n`,
  )
  process.exit(1)
}
Object.assign(process.env, environment())
enableCompileCache(process.env.NODE_COMPILE_CACHE)
await import('./main.ts')
