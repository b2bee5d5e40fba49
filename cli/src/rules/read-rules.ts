import { parseRules } from '@svc/domain/rules'
import { inputName, parseInputJson, readInputText } from '../client/index.ts'

/** The JSON of a file, or of standard input for `-`. Throws a Failure if it is not JSON. */
export function readJson(file: string): unknown {
  return parseInputJson(readInputText(file, 'rules'), 'rules', inputName(file))
}

/** The rules in a file, or standard input for `-`, as to be sent. Throws a Failure if they are invalid. */
export function readRules(file: string): unknown[] {
  return parseRulesText(readInputText(file, 'rules'), inputName(file))
}

/** The rules in a JSON text, as to be sent; `source` is its name in messages. */
export function parseRulesText(text: string, source: string): unknown[] {
  const json = parseInputJson(text, 'rules', source)
  // Throws the Failure with which the coordinator would reject them.
  parseRules(json)
  return json as unknown[]
}
