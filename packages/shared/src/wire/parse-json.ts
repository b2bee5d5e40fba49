import { type Failure, invalidInput } from '@svc/domain/failure'
import { refuse, showValue } from '@svc/domain/validation'
import { z } from 'zod'

type Path = readonly PropertyKey[]

/** How a refused value is told. */
export interface RefusalOptions {
  /** What the whole is called where no field of it is to blame. */
  readonly subject: string
  /** Values are secrets: they are not repeated. */
  readonly hideValues?: boolean
}

const maxShownProblems = 5

/**
 * What a schema makes of a JSON value. What it refuses is one invalidInput failure that names every field (five at
 * most) with its value and what is allowed; the schema's messages are what is allowed.
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

/** Names the fields of an object in which there is another one; about everything else the schema speaks. */
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
    // A dimension may be a bare name; what is wrong with its name is then the value itself.
    if (typeof value === 'string') return value
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined
    value = (value as Record<PropertyKey, unknown>)[part]
  }
  return value
}

/** What is allowed: the schema's own message, or what its built-in one is about. */
function allowedBy(issue: z.core.$ZodIssue): string {
  if (!/^(Invalid|Too small|Too big)/.test(issue.message)) return issue.message
  switch (issue.code) {
    case 'invalid_value':
      return `one of ${issue.values.map(String).join(', ')}`
    case 'invalid_type':
      return `a value of type ${issue.expected}`
    case 'too_small':
      return `at least ${issue.minimum}`
    case 'too_big':
      return `at most ${issue.maximum}`
    default:
      return 'another form of value'
  }
}
