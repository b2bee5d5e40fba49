import { longestNamePattern } from '@svc/domain/access'
import { RE2JS } from 're2js'

/**
 * A test of whether a whole name matches a pattern, in time linear in the name. A pattern that is no regular
 * expression matches nothing.
 */
export function compileNamePattern(pattern: string): (name: string) => boolean {
  if (pattern === '.*') return () => true
  if (/^[\w-]*$/.test(pattern)) return (name) => name === pattern
  if (pattern.length > longestNamePattern) return () => false
  try {
    const compiled = RE2JS.compile(pattern, RE2JS.DOTALL)
    return (name) => compiled.matches(name)
  } catch {
    return () => false
  }
}

/** Whether a text is a regular expression that can be a pattern of names. */
export function isNamePattern(pattern: string): boolean {
  try {
    RE2JS.compile(pattern, RE2JS.DOTALL)
    return true
  } catch {
    return false
  }
}
