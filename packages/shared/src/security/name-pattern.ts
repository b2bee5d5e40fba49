import { isPlainName, maxNamePatternLength } from '@svc/domain/access'
import { maxNameLength } from '@svc/domain/validation'
import { RE2JS } from 're2js'

// A compiled pattern has one step per character to match, plus some overhead. Repetitions count once per repeat.
// Matching one character takes time proportional to the number of steps.
const maxSteps = maxNamePatternLength + 100
// No resource has a longer name. Matching takes time proportional to the length of the name, too.
const maxMatchedLength = maxNameLength

/** Compiles a pattern. Throws if it is not a regular expression, or too long with its repetitions expanded. */
function compile(pattern: string): RE2JS {
  const compiled = RE2JS.compile(pattern, RE2JS.DOTALL)
  if (compiled.programSize() > maxSteps)
    throw new RangeError('The pattern is too long after its repetitions are expanded')
  return compiled
}

/**
 * Returns a test for whether an entire name matches a pattern, in time linear in the name. An invalid pattern matches
 * nothing.
 */
export function compileNamePattern(pattern: string): (name: string) => boolean {
  if (pattern === '.*') return () => true
  if (isPlainName(pattern)) return (name) => name === pattern
  if (pattern.length > maxNamePatternLength) return () => false
  try {
    const compiled = compile(pattern)
    return (name) => name.length <= maxMatchedLength && compiled.matches(name)
  } catch {
    return () => false
  }
}

/** Returns how many steps matching one character with a pattern may take; undefined if the pattern is invalid. */
export function countNamePatternSteps(pattern: string): number | undefined {
  if (isPlainName(pattern)) return pattern.length <= maxNamePatternLength ? 1 : undefined
  try {
    return Math.max(pattern.length, compile(pattern).programSize())
  } catch {
    return undefined
  }
}
