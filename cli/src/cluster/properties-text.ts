import type { Properties } from './plan-cluster.ts'

/**
 * Properties as the text of a `.properties` file: one a line, in the given order. Escapes what the format would read
 * otherwise: a backslash, separators and comment signs in a name, leading blanks of a value, line ends, and
 * characters beyond printable ASCII as `\uXXXX`.
 */
export function propertiesText(properties: Properties): string {
  return Object.entries(properties)
    .map(([name, value]) => `${escapeName(name)}=${escapeValue(value)}\n`)
    .join('')
}

function escapeName(name: string): string {
  return escapeCharacters(name).replace(/[\s:=#!]/g, (character) => `\\${character}`)
}

function escapeValue(value: string): string {
  return escapeCharacters(value).replace(/^ /, '\\ ')
}

function escapeCharacters(text: string): string {
  return text
    .replaceAll('\\', '\\\\')
    .replaceAll('\n', '\\n')
    .replaceAll('\r', '\\r')
    .replaceAll('\t', '\\t')
    .replace(/[^ -~]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
