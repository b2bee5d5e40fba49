import { RE2JS } from 're2js'

/** Longest pattern of a resource name that is compiled. */
export const longestPatternLength = 1024

/**
 * A test of whether a whole name matches a pattern, in time linear in the name. A pattern that is no regular
 * expression matches nothing.
 */
export function compileNamePattern(pattern: string): (name: string) => boolean {
  if (pattern === '.*') return () => true
  if (/^[\w-]*$/.test(pattern)) return (name) => name === pattern
  if (pattern.length > longestPatternLength) return () => false
  try {
    const compiled = RE2JS.compile(pattern, RE2JS.DOTALL)
    return (name) => compiled.matches(name)
  } catch {
    return () => false
  }
}
