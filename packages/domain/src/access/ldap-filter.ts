/**
 * Returns whether the parentheses of an LDAP search filter are balanced (RFC 4515: those in values are escaped). Some clients
 * complete other filters, and some reject them.
 */
export function isBalancedFilter(filter: string): boolean {
  let depth = 0
  for (const character of filter) {
    if (character === '(') depth += 1
    if (character === ')') depth -= 1
    if (depth < 0) return false
  }
  return depth === 0
}
