import { parseRules } from '@svc/domain/rules'
import { inputName, parseInputJson, readInputText } from '../client/index.ts'

/** The JSON of a file, or of standard input for `-`. Throws a Failure when there is none. */
export function readJson(file: string): unknown {
  return parseInputJson(readInputText(file, 'rules'), 'rules', inputName(file))
}

/** The rules of a file, or of standard input for `-`, as they are sent. Throws a Failure that names what is wrong. */
export function readRules(file: string): unknown[] {
  return parseRulesText(readInputText(file, 'rules'), inputName(file))
}

/** The rules of a JSON text, as they are sent; `source` is what messages call it. */
export function parseRulesText(text: string, source: string): unknown[] {
  const json = parseInputJson(text, 'rules', source)
  // What would be refused is told here, in the same words.
  parseRules(json)
  return json as unknown[]
}
