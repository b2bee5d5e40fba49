import { type Failure, invalidInput } from '../failure/index.ts'
import { cutText, escapeControlCharacters } from './control-characters.ts'

const maxShownValueLength = 120

/** Formats a value for a message: strings with control characters escaped, other values as JSON, long values cut. */
export function showValue(value: unknown): string {
  const text = typeof value === 'string' ? value : beginningOfJson(value, maxShownValueLength)
  const shown = escapeControlCharacters(cutText(text, maxShownValueLength))
  return text.length > maxShownValueLength ? `${shown}…` : shown
}

/** Returns the JSON of a value, or only its beginning if it is long. The time does not grow with the value. */
function beginningOfJson(value: unknown, maxLength: number): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, maxLength + 1))
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? String(value)
  return Array.isArray(value) ? beginningOfList(value, maxLength) : beginningOfObject(value, maxLength)
}

function beginningOfList(list: readonly unknown[], maxLength: number): string {
  let text = '['
  for (let index = 0; index < list.length && text.length <= maxLength; index++)
    text += `${index > 0 ? ',' : ''}${beginningOfJson(list[index], Math.max(maxLength - text.length, 0))}`
  return `${text}]`
}

function beginningOfObject(object: object, maxLength: number): string {
  let text = '{'
  for (const [name, value] of Object.entries(object)) {
    if (text.length > maxLength) break
    if (value === undefined) continue
    const label = JSON.stringify(name.slice(0, maxLength))
    text += `${text.length > 1 ? ',' : ''}${label}:${beginningOfJson(value, Math.max(maxLength - text.length, 0))}`
  }
  return `${text}}`
}

/** The name of an entire value, whose path is empty. */
const nameOf = (path: string): string => (path === '' ? 'body' : path)

/**
 * Returns the failure for an invalid or missing value. `path` is its path, such as `rules[2].period`, or empty for an
 * entire body; `expected` completes the sentence "expected …".
 */
export function refuse(path: string, value: unknown, expected: string): Failure {
  const problem = value === undefined ? 'Missing value' : `Invalid value [${showValue(value)}]`
  const field = nameOf(path)
  return invalidInput(`${problem} for [${field}]: expected ${expected}`, { field })
}

/** Returns the failure for an invalid value that must not be shown, such as a password. */
export function refuseSecret(path: string, expected: string): Failure {
  const field = nameOf(path)
  return invalidInput(`Invalid value for [${field}]: expected ${expected}`, { field })
}

/** Returns the failure for a list or object with too many entries. `field` is its path. */
export function refuseCount(things: string, count: number, field: string, expected: string): Failure {
  return invalidInput(`Too many ${things} [${count}] in [${field}]: expected ${expected}`, { field })
}

/** Returns the path of a field: its name, after the path of its object unless that is the entire value. */
export const fieldOf = (path: string, name: string): string => (path === '' ? name : `${path}.${name}`)

function unknownField(json: object, known: readonly string[]): string | undefined {
  for (const name in json) if (Object.hasOwn(json, name) && !known.includes(name)) return name
  return undefined
}

/**
 * Throws invalidInput for the first field of an object that is not one of `known`. `path` is the path of the object. The
 * message does not contain the value of a field that may be a secret.
 */
export function assertKnownFields(
  json: Readonly<Record<string, unknown>>,
  known: readonly string[],
  path: string,
  isSecret = false,
): void {
  const name = unknownField(json, known)
  if (name === undefined) return
  const field = fieldOf(path, name)
  const value = isSecret ? '' : ` with value [${showValue(json[name])}]`
  throw invalidInput(`Unknown field [${field}]${value}: expected one of [${known.join(', ')}]`, { field })
}
