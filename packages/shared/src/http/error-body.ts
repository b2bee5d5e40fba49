import { Failure, type FailureCode, failureKinds, personas } from '@svc/domain/failure'
import * as z from 'zod'
import { type JsonSchema, schemaOf } from './describe-endpoint.ts'

/** The HTTP status of each failure code. This is the only such table. */
export const statusOf: Readonly<Record<FailureCode, number>> = {
  invalidInput: 400,
  unauthorized: 401,
  forbidden: 403,
  notFound: 404,
  methodNotAllowed: 405,
  requestTimedOut: 408,
  conflict: 409,
  tooLarge: 413,
  unsupportedMediaType: 415,
  busy: 429,
  internalServerError: 500,
  cancelled: 500,
  unavailable: 503,
  timedOut: 504,
}

const errorShape = z.object({
  error: z.literal('svcException'),
  errorCode: z.enum(Object.keys(statusOf) as FailureCode[]),
  persona: z.enum(personas),
  category: z.string(),
  errorMessage: z.string(),
  context: z.record(z.string(), z.string()),
})

/** The JSON body of every error. */
export type ErrorBody = Readonly<z.infer<typeof errorShape>>

/** Returns the JSON schema of `ErrorBody`. */
export const errorSchema = (): JsonSchema => schemaOf(errorShape)

/** Returns the error body for a failure. */
export function errorBody(failure: Failure): ErrorBody {
  return {
    error: 'svcException',
    errorCode: failure.code,
    persona: failure.persona,
    category: failure.category,
    errorMessage: failure.message,
    context: failure.context,
  }
}

/** Returns the failure in a response of another server; its message names that server. */
export function failureOf(status: number, body: unknown, from: string): Failure {
  const errorBody = body as Partial<ErrorBody> | undefined
  const known = typeof errorBody?.errorCode === 'string' && Object.hasOwn(failureKinds, errorBody.errorCode)
  const code = known
    ? (errorBody.errorCode as FailureCode)
    : ((Object.keys(statusOf) as FailureCode[]).find((key) => statusOf[key] === status) ??
      'internalServerError')
  const message =
    typeof errorBody?.errorMessage === 'string' ? errorBody.errorMessage : `HTTP status [${status}]`
  return new Failure(code, `[${from}] responded: ${message}`, { server: from })
}
