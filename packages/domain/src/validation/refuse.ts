import { type Failure, invalidInput } from '../failure/index.ts'

const longestShownValue = 120

/** The value as a message shows it: text as it is, anything else as JSON, cut where it gets long. */
export function showValue(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value))
  return text.length > longestShownValue ? `${text.slice(0, longestShownValue)}…` : text
}

/**
 * The failure for a value that is not allowed. `field` is the path to it, such as `rules[2].period`; `allowed`
 * ends the sentence "allowed is …".
 */
export function refuse(field: string, value: unknown, allowed: string): Failure {
  const found = value === undefined ? 'is missing' : `has the value [${showValue(value)}]`
  return invalidInput(`${field} ${found}; allowed is ${allowed}`, { field })
}
