import { Failure, invalidInput } from '../failure/index.ts'
import { isJsonObject, type Reader } from './readers.ts'
import { refuse } from './refuse.ts'

const maxShownProblems = 5

/**
 * Reads an object like `read`, but throws invalidInput with the first five problems instead of only the first one.
 * `subject` is the name of the entire object, for messages.
 */
export function readListingProblems<Value>(read: Reader<Value>, json: unknown, subject: string): Value {
  if (!isJsonObject(json)) throw refuse(subject, json, 'an object')
  const problems: Failure[] = []
  try {
    return read(json, '', problems)
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    if (!problems.includes(error)) problems.push(error)
    const messages = problems.slice(0, maxShownProblems).map(({ message }) => message)
    if (problems.length > maxShownProblems) messages.push(`and ${problems.length - maxShownProblems} more`)
    throw invalidInput(messages.join('; '), problems[0]?.context)
  }
}
