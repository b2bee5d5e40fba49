import { type Failure, invalidInput } from '@svc/domain/failure'
import { refuse } from '@svc/domain/validation'
import type { z } from 'zod'

type Path = readonly PropertyKey[]

const mostToldProblems = 5

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

/**
 * The failure for what a schema refused in a JSON text: names every field (five at most) with its value and what is
 * allowed. The schema's messages are what is allowed: they end the sentence "allowed is …".
 */
export function specFailure(json: unknown, error: z.ZodError): Failure {
  const failures = error.issues.slice(0, mostToldProblems).flatMap((issue) => {
    if (issue.code !== 'unrecognized_keys') {
      return [refuse(pathText(issue.path) || 'The task', valueAt(json, issue.path), issue.message)]
    }
    return issue.keys.map((key) => {
      const field = pathText([...issue.path, key])
      return invalidInput(`${field} is not a known field; allowed is ${issue.message}`, { field })
    })
  })
  const untold = error.issues.length - mostToldProblems
  const messages = failures.map((failure) => failure.message)
  if (untold > 0) messages.push(`and ${untold} more`)
  return invalidInput(messages.join('; '), failures[0]?.context)
}
