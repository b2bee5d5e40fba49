import { type Failure, invalidInput } from '@svc/domain/failure'
import { refuse, showValue } from '@svc/domain/validation'
import { z } from 'zod'

type Path = readonly PropertyKey[]

/** How invalid values are reported. */
export interface RefusalOptions {
  /** The name of the entire value, for problems that belong to no field. */
  readonly subject: string
  /** Values are secrets and must not appear in messages. */
  readonly hideValues?: boolean
}

const maxShownProblems = 5

/**
 * Parses a JSON value with a schema. Throws an invalidInput Failure with the first five problems: each names a field,
 * its value, and what is expected. The messages of the schema complete the sentence "expected …".
 */
export function parseJson<Schema extends z.ZodType>(
  schema: Schema,
  json: unknown,
  options: RefusalOptions,
): z.output<Schema> {
  const result = schema.safeParse(json, { error: nameFields })
  if (result.success) return result.data
  throw refusalOf(result.error, json, options)
}

/** Lists the known fields for an object with an unknown field. Other messages come from the schema. */
function nameFields({ code, inst }: z.core.$ZodRawIssue): string | undefined {
  if (code !== 'unrecognized_keys' || !(inst instanceof z.ZodObject)) return undefined
  return `one of [${Object.keys(inst.shape).join(', ')}]`
}

function refusalOf(error: z.ZodError, json: unknown, { subject, hideValues }: RefusalOptions): Failure {
  const failures = error.issues.slice(0, maxShownProblems).flatMap((issue) => {
    const allowed = allowedBy(issue)
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.slice(0, maxShownProblems).map((key) => {
        const field = pathText([...issue.path, key])
        const shown = hideValues ? '' : ` with value [${showValue(valueAt(json, [...issue.path, key]))}]`
        return invalidInput(`Unknown field [${field}]${shown}: expected ${allowed}`, { field })
      })
    }
    const field = pathText(issue.path) || subject
    if (hideValues) return [invalidInput(`Invalid value for [${field}]: expected ${allowed}`, { field })]
    return [refuse(field, valueAt(json, issue.path), allowed)]
  })
  const problems = error.issues
    .map((issue) => (issue.code === 'unrecognized_keys' ? issue.keys.length : 1))
    .reduce((sum, count) => sum + count, 0)
  const messages = failures.slice(0, maxShownProblems).map((failure) => failure.message)
  if (problems > messages.length) messages.push(`and ${problems - messages.length} more`)
  return invalidInput(messages.join('; '), failures[0]?.context)
}

/** A path into JSON as people write it: `spec.dataSchema.dimensionsSpec.dimensions[2]`. */
function pathText(path: Path): string {
  return path
    .map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`))
    .join('')
    .replace(/^\./, '')
}

function valueAt(json: unknown, path: Path): unknown {
  let value = json
  for (const part of path) {
    // A dimension may be just a name. The value of its field `name` is then the dimension itself.
    if (typeof value === 'string') return value
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined
    value = (value as Record<PropertyKey, unknown>)[part]
  }
  return value
}

const typeNames: Readonly<Record<string, string>> = {
  object: 'an object',
  record: 'an object',
  array: 'a list',
  string: 'a string',
  number: 'a number',
  int: 'an integer',
  boolean: 'true or false',
}

/** Returns what is expected: the message of the schema, or a replacement for Zod's built-in message. */
function allowedBy(issue: z.core.$ZodIssue): string {
  if (!/^(Invalid|Too small|Too big)/.test(issue.message)) return issue.message
  switch (issue.code) {
    case 'invalid_value':
      return `one of [${issue.values.map(String).join(', ')}]`
    case 'invalid_type':
      return typeNames[issue.expected] ?? `a value of type ${issue.expected}`
    case 'too_small':
      return `at least ${limitText(issue.minimum, issue.origin)}`
    case 'too_big':
      return `at most ${limitText(issue.maximum, issue.origin)}`
    default:
      return 'a value in a different format'
  }
}

/** Returns a limit with what it counts, such as the characters of a string. */
function limitText(limit: number | bigint, origin: string): string {
  if (origin === 'string') return `${limit} ${Number(limit) === 1 ? 'character' : 'characters'}`
  return origin === 'array' ? `${limit} ${Number(limit) === 1 ? 'entry' : 'entries'}` : `${limit}`
}
