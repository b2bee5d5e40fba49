import { readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import { invalidInput } from '@svc/domain/failure'

/**
 * Returns the environment variables of this process, and those in a file with `NAME=value` lines, as for containers. Throws a
 * Failure if it cannot be read.
 */
export function environmentWith(file: string | undefined): Readonly<Record<string, string | undefined>> {
  return file === undefined ? process.env : { ...process.env, ...readEnvironmentFile(file) }
}

function readEnvironmentFile(file: string): Readonly<Record<string, string | undefined>> {
  try {
    return parseEnv(readFileSync(file, 'utf8'))
  } catch (error) {
    throw invalidInput(
      `Failed to read the file [${file}] given with [--variables] (${(error as NodeJS.ErrnoException).code})`,
    )
  }
}
