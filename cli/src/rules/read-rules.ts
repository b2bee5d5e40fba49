import { readFileSync } from 'node:fs'
import { describeError, invalidInput, notFound } from '@svc/domain/failure'
import { parseRules } from '@svc/domain/rules'

const STANDARD_INPUT = '-'

/** The rules of a file, or of standard input for `-`, as they are sent. Throws a Failure that names what is wrong. */
export function readRules(file: string): unknown[] {
  return parseRulesText(readText(file), file === STANDARD_INPUT ? 'standard input' : `file [${file}]`)
}

/** The rules of a JSON text, as they are sent; `source` is what messages call it. */
export function parseRulesText(text: string, source: string): unknown[] {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch (error) {
    throw invalidInput(`The rules in ${source} are not JSON: ${describeError(error)}`)
  }
  // What would be refused is told here, in the same words.
  parseRules(json)
  return json as unknown[]
}

function readText(file: string): string {
  try {
    return readFileSync(file === STANDARD_INPUT ? process.stdin.fd : file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw notFound(`File [${file}] does not exist`)
    throw notFound(`The rules in [${file}] cannot be read: ${describeError(error)}`)
  }
}
