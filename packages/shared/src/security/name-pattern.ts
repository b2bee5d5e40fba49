import { longestNamePattern } from '@svc/domain/access'
import { RE2JS } from 're2js'

// The library's program has a step for each character to be matched, and some around them. What it does with one grows
// with its steps: a repetition counts as often as it repeats.
const mostSteps = longestNamePattern + 100

/** Throws where the pattern is no regular expression, or too long with its repetitions written out. */
function compile(pattern: string): RE2JS {
  const compiled = RE2JS.compile(pattern, RE2JS.DOTALL)
  if (compiled.programSize() > mostSteps) throw new RangeError('The pattern has too many steps')
  return compiled
}

/** Whether a pattern matches only itself: it need not be compiled. */
const isPlainName = (pattern: string): boolean => /^[\w-]*$/.test(pattern)

/**
 * A test of whether a whole name matches a pattern, in time linear in the name. A pattern that is no regular
 * expression matches nothing.
 */
export function compileNamePattern(pattern: string): (name: string) => boolean {
  if (pattern === '.*') return () => true
  if (isPlainName(pattern)) return (name) => name === pattern
  if (pattern.length > longestNamePattern) return () => false
  try {
    const compiled = compile(pattern)
    return (name) => compiled.matches(name)
  } catch {
    return () => false
  }
}

/** Whether a text is a regular expression that can be a pattern of names. */
export function isNamePattern(pattern: string): boolean {
  if (isPlainName(pattern)) return pattern.length <= longestNamePattern
  try {
    compile(pattern)
    return true
  } catch {
    return false
  }
}
