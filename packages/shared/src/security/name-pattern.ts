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
 * Returns a test for a pattern such as `team.*`, `.*team`, or `.*team.*`; undefined for all others. A role may have more than a
 * thousand of them, and lists check the names of all datasources, so they do not use the library, which is 10 to 40 times slower.
 */
function partMatcher(pattern: string): ((name: string) => boolean) | undefined {
  const [, start, part, end] = /^(\.\*)?([\w-]+)(\.\*)?$/.exec(pattern) ?? []
  if (part === undefined) return undefined
  if (start === undefined) return (name) => name.startsWith(part)
  return end === undefined ? (name) => name.endsWith(part) : (name) => name.includes(part)
}

/**
 * Returns a test for whether an entire name matches a pattern, in time linear in the name. An invalid pattern matches
 * nothing.
 */
export function compileNamePattern(pattern: string): (name: string) => boolean {
  if (pattern === '.*') return () => true
  if (isPlainName(pattern)) return (name) => name === pattern
  if (pattern.length > maxNamePatternLength) return () => false
  const matchesPart = partMatcher(pattern)
  if (matchesPart) return (name) => name.length <= maxMatchedLength && matchesPart(name)
  try {
    const compiled = compile(pattern)
    // The library prepares its first match only now. Callers pause while they compile, but not while they match.
    compiled.matches('')
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
