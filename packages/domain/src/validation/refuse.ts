import { type Failure, invalidInput } from '../failure/index.ts'
import { cutText, escapeControlCharacters } from './control-characters.ts'

const longestShownValue = 120

/** The value as a message shows it: text with control characters escaped, anything else as JSON, cut where it gets long. */
export function showValue(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value))
  const shown = escapeControlCharacters(cutText(text, longestShownValue))
  return text.length > longestShownValue ? `${shown}…` : shown
}

/**
 * The failure for a value that is not allowed. `field` is the path to it, such as `rules[2].period`; `allowed`
 * ends the sentence "allowed is …".
 */
export function refuse(field: string, value: unknown, allowed: string): Failure {
  const found = value === undefined ? 'is missing' : `has the value [${showValue(value)}]`
  return invalidInput(`${field} ${found}; allowed is ${allowed}`, { field })
}
