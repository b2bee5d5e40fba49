import { type DistinguishedName, parseDistinguishedName } from './distinguished-name.ts'

/** A parsed LDAP group pattern. */
type GroupPattern =
  | { readonly kind: 'any' }
  | { readonly kind: 'whole' | 'suffix' | 'prefix'; readonly name: DistinguishedName }

/** Whether a string is an LDAP group pattern: `*`, a full distinguished name, `*,suffix`, or `prefix,*`. */
export function isGroupPattern(text: string): boolean {
  return parseGroupPattern(text) !== undefined
}

/**
 * Compiles a group pattern: `*` matches any group, a full name matches itself, `*,suffix` matches all groups below the
 * suffix, and `prefix,*` matches all that start with the prefix. The comparison ignores case and spaces around parts.
 * An invalid pattern matches nothing, and an invalid group name is never matched.
 */
export function compileGroupPattern(text: string): (group: string) => boolean {
  const pattern = parseGroupPattern(text)
  if (!pattern) return () => false
  if (pattern.kind === 'any') return () => true
  const { kind, name } = pattern
  return (group) => {
    const parts = parseDistinguishedName(group)
    if (!parts || (kind === 'whole' ? parts.length !== name.length : parts.length <= name.length))
      return false
    const offset = kind === 'suffix' ? parts.length - name.length : 0
    return name.every((part, index) => parts[offset + index] === part)
  }
}

function parseGroupPattern(text: string): GroupPattern | undefined {
  if (text === '*') return { kind: 'any' }
  const kind = text.startsWith('*,') ? 'suffix' : endsWithStar(text) ? 'prefix' : 'whole'
  const written = kind === 'suffix' ? text.slice(2) : kind === 'prefix' ? text.slice(0, -2) : text
  if (written.includes('*')) return undefined
  const name = parseDistinguishedName(written)
  return name && { kind, name }
}

// A comma after a backslash is part of a value.
const endsWithStar = (text: string): boolean => /(^|[^\\]),\*$/.test(text)
