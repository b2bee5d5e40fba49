import { writeFileSync } from 'node:fs'
import { describeError, invalidInput } from '@svc/domain/failure'

/** Writes a file that an option names. Throws invalidInput if that is impossible. */
export function writeFileOf(option: string, file: string, text: string): void {
  try {
    writeFileSync(file, text)
  } catch (error) {
    throw invalidInput(`Failed to write the file [${file}] given with ${option}: ${describeError(error)}`)
  }
}
