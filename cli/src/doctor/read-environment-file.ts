import { readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import { invalidInput } from '@svc/domain/failure'

/** Reads a file with `NAME=value` lines, as for containers. Throws a Failure if it cannot be read. */
export function readEnvironmentFile(file: string): Readonly<Record<string, string | undefined>> {
  try {
    return parseEnv(readFileSync(file, 'utf8'))
  } catch (error) {
    throw invalidInput(
      `Cannot read the file [${file}] of [--env-file] (${(error as NodeJS.ErrnoException).code})`,
    )
  }
}
