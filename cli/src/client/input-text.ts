import { readFileSync } from 'node:fs'
import { describeError, invalidInput, notFound } from '@svc/domain/failure'

const standardInput = '-'

/** What messages call a file, or standard input for `-`. */
export const inputName = (file: string): string =>
  file === standardInput ? 'standard input' : `file [${file}]`

/** The text of a file, or of standard input for `-`; `things` is what it holds. Throws a Failure when it cannot be read. */
export function readInputText(file: string, things: string): string {
  try {
    return readFileSync(file === standardInput ? process.stdin.fd : file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw notFound(`File [${file}] does not exist`)
    throw notFound(`The ${things} in [${file}] cannot be read: ${describeError(error)}`)
  }
}

/** The JSON of a text. Throws a Failure when it is none. */
export function parseInputJson(text: string, things: string, source: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw invalidInput(`The ${things} in ${source} are not JSON: ${describeError(error)}`)
  }
}
