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

/** Replaces the placeholders of a filter, as `String.format` of Java does: `%s`, `%1$s`, and `%<s`. `%%` is a percent sign. */
export const fillFilter = (template: string, value: string): string =>
  template.replaceAll(/%%|%(1\$|<)?s/g, (placeholder) => (placeholder === '%%' ? '%' : value))

/** Returns whether the result of a filter depends on the value. */
export const hasPlaceholder = (template: string): boolean =>
  fillFilter(template, 'a') !== fillFilter(template, 'b')

/** A format specifier of Java: index, flags, width, precision, and conversion. */
const specifier = /%(?:(\d+)\$)?([-#+ 0,(<]*)\d*(?:\.\d+)?([a-zA-Z%])/g

/** Returns why `String.format` of Java fails for a filter and one text; undefined if it does not fail. */
export function filterFormatProblem(template: string): string | undefined {
  const rest = template.replaceAll(specifier, '')
  const at = rest.indexOf('%')
  if (at !== -1)
    return `it contains [${rest.slice(at, at + 2)}], which is not a placeholder; a literal percent sign is %%`
  const found = [...template.matchAll(specifier)].filter(
    ([, , , conversion]) => !/[%n]/.test(conversion ?? ''),
  )
  const other = found.find(([, , , conversion]) => !/[sShHbB]/.test(conversion ?? ''))
  if (other !== undefined) return `it contains [${other[0]}], which is not a placeholder for a text`
  const beyond = found.find(([, index]) => index !== undefined && index !== '1')
  if (beyond !== undefined) return `it contains [${beyond[0]}], but the user name is the only value`
  const next = found.filter(([, index, flags]) => index === undefined && !flags?.includes('<'))
  if (next.length > 1)
    return `it contains ${next.length} placeholders without an index, but the user name is the only value`
  return undefined
}
