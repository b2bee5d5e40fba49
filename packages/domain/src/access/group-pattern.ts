import { type DistinguishedName, parseDistinguishedName } from './distinguished-name.ts'

/** What a pattern of directory groups selects. */
type GroupPattern =
  | { readonly kind: 'any' }
  | { readonly kind: 'whole' | 'suffix' | 'prefix'; readonly name: DistinguishedName }

/** Whether a text is a pattern of directory groups: `*`, a whole distinguished name, `*,suffix` or `prefix,*`. */
export function isGroupPattern(text: string): boolean {
  return parseGroupPattern(text) !== undefined
}

/**
 * A test of group names by a pattern: `*` for any group, a whole name, `*,suffix` for all below, `prefix,*` for all
 * that begin so. Names are compared without regard to case and to blanks around their parts. A text that is no
 * pattern, and a group that is no name, match nothing.
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

// A comma behind a backslash belongs to a value.
const endsWithStar = (text: string): boolean => /(^|[^\\]),\*$/.test(text)
