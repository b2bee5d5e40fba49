import { Failure, invalidInput } from '../failure/index.ts'
import type { Reader } from './readers.ts'

const maxShownProblems = 5

/** Reads a value like `read`, but throws invalidInput with the first five problems instead of only the first one. */
export function readListingProblems<Value>(read: Reader<Value>, json: unknown): Value {
  const problems: Failure[] = []
  try {
    return read(json, '', problems)
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    if (!problems.includes(error)) problems.push(error)
    if (problems.length === 1) throw error
    const messages = problems.slice(0, maxShownProblems).map(({ message }) => message)
    if (problems.length > maxShownProblems) messages.push(`and ${problems.length - maxShownProblems} more`)
    throw invalidInput(messages.join('; '), problems[0]?.context)
  }
}
