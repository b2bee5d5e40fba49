import type { Properties } from './plan-cluster.ts'

/**
 * Properties as the text of a `.properties` file: one per line, in the given order. Escapes backslashes, separators and
 * comment signs in names, leading spaces of values, line breaks, and characters beyond printable ASCII (`\uXXXX`).
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
