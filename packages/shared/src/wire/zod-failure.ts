import { type Failure, invalidInput } from '@svc/domain/failure'
import type { z } from 'zod'

/** A failure that names the first field a schema refused, what was wrong with it and what is allowed. */
export function zodFailure(subject: string, error: z.ZodError): Failure {
  const [issue] = error.issues
  if (!issue) return invalidInput(`The ${subject} is not valid`)
  const field = issue.path.map((part) => (typeof part === 'number' ? `[${part}]` : String(part))).join('.')
  return invalidInput(`${subject} field [${field}]: ${issue.message}`, field === '' ? {} : { field })
}
