import { readFileSync } from 'node:fs'
import { describeError, invalidInput, notFound } from '@svc/domain/failure'

const standardInput = '-'

/** The name of a file in messages; `-` is standard input. */
export const inputName = (file: string): string =>
  file === standardInput ? 'standard input' : `file [${file}]`

/** The text of a file, or of standard input for `-`; `things` names its contents. Throws a Failure if it is unreadable. */
export function readInputText(file: string, things: string): string {
  try {
    return readFileSync(file === standardInput ? process.stdin.fd : file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw notFound(`File [${file}] does not exist`)
    throw notFound(`Failed to read the ${things} in [${file}]: ${describeError(error)}`)
  }
}

/** The parsed JSON of a text. Throws a Failure if it is not valid JSON. */
export function parseInputJson(text: string, things: string, source: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw invalidInput(`Invalid ${things} in ${source}: expected JSON (${describeError(error)})`)
  }
}
