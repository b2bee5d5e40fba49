import { type Failure, invalidInput } from '@svc/domain/failure'
import { refuse } from '@svc/domain/validation'
import type { z } from 'zod'

type Path = readonly PropertyKey[]

/** How a refused value is told. */
export interface RefusalOptions {
  /** What the whole is called where no field of it is to blame. */
  readonly subject: string
  /** Values are secrets: they are not repeated. */
  readonly hideValues?: boolean
}

const mostToldProblems = 5

/**
 * What a schema makes of a JSON value. What it refuses is one invalidInput failure that names every field (five at
 * most) with its value and what is allowed; the schema's messages are what is allowed.
 */
export function parseJson<Schema extends z.ZodType>(
  schema: Schema,
  json: unknown,
  options: RefusalOptions,
): z.output<Schema> {
  const result = schema.safeParse(json)
  if (result.success) return result.data
  throw refusalOf(schema, result.error, json, options)
}

function refusalOf(
  schema: z.ZodType,
  error: z.ZodError,
  json: unknown,
  { subject, hideValues }: RefusalOptions,
): Failure {
  const failures = error.issues.slice(0, mostToldProblems).flatMap((issue) => {
    if (issue.code === 'unrecognized_keys') {
      const known = fieldsAt(schema, issue.path)
      const allowed = known && isBuiltIn(issue) ? `only [${known.join(', ')}]` : allowedBy(issue)
      return issue.keys.map((key) => {
        const field = pathText([...issue.path, key])
        return invalidInput(`${field} is not a known field; allowed is ${allowed}`, { field })
      })
    }
    const allowed = allowedBy(issue)
    const field = pathText(issue.path) || subject
    if (hideValues) return [invalidInput(`${field} cannot be taken; allowed is ${allowed}`, { field })]
    return [refuse(field, valueAt(json, issue.path), allowed)]
  })
  const untold = error.issues.length - mostToldProblems
  const messages = failures.map((failure) => failure.message)
  if (untold > 0) messages.push(`and ${untold} more`)
  return invalidInput(messages.join('; '), failures[0]?.context)
}

/** A path into JSON as people write it: `spec.dataSchema.dimensionsSpec.dimensions[2]`. */
function pathText(path: Path): string {
  return path
    .map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`))
    .join('')
    .replace(/^\./, '')
}

/** The fields that an object in a schema may have; undefined where the path leads through a choice of forms. */
function fieldsAt(schema: z.core.$ZodType, path: Path): string[] | undefined {
  const def = schema._zod.def as unknown as Readonly<Record<string, unknown>>
  const inner = (def.innerType ?? def.in) as z.core.$ZodType | undefined
  if (inner) return fieldsAt(inner, path)
  if (def.type === 'array') return fieldsAt(def.element as z.core.$ZodType, path.slice(1))
  if (def.type === 'record') return fieldsAt(def.valueType as z.core.$ZodType, path.slice(1))
  if (def.type !== 'object') return undefined
  const shape = def.shape as Readonly<Record<string, z.core.$ZodType>>
  if (path.length === 0) return Object.keys(shape)
  const next = shape[String(path[0])]
  return next && fieldsAt(next, path.slice(1))
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

/** Whether the schema has no message of its own for what it refused. */
const isBuiltIn = ({ message }: z.core.$ZodIssue): boolean =>
  /^(Invalid|Too small|Too big|Unrecognized)/.test(message)

/** What is allowed: the schema's own message, or what its built-in one is about. */
function allowedBy(issue: z.core.$ZodIssue): string {
  if (!isBuiltIn(issue)) return issue.message
  switch (issue.code) {
    case 'invalid_value':
      return `one of ${issue.values.map(String).join(', ')}`
    case 'invalid_type':
      return `a value of type ${issue.expected}`
    case 'too_small':
      return `at least ${issue.minimum}`
    case 'too_big':
      return `at most ${issue.maximum}`
    case 'unrecognized_keys':
      return 'only what the documentation names'
    default:
      return 'another form of value'
  }
}
