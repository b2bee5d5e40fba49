// One attribute of a distinguished name: a type (RFC 4512 1.4) and a value that is not empty.
const attribute = /^\s*([A-Za-z][A-Za-z0-9-]*|\d+(\.\d+)*)\s*=\s*\S.*$/

/**
 * Whether a text is a pattern of directory groups: `*` for any group, a whole distinguished name, `*,suffix` or
 * `prefix,*`.
 */
export function isGroupPattern(text: string): boolean {
  if (text === '*') return true
  const name = text.startsWith('*,') ? text.slice(2) : text.endsWith(',*') ? text.slice(0, -2) : text
  // A comma behind a backslash belongs to a value.
  return name !== '' && !name.includes('*') && name.split(/(?<!\\),/).every((part) => attribute.test(part))
}
