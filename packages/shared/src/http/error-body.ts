import {
  Failure,
  type FailureCode,
  type FailureContext,
  failureKinds,
  type Persona,
} from '@svc/domain/failure'

/** The HTTP status of each kind of failure: the only such table. */
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

/** The one JSON shape of an error. */
export interface ErrorBody {
  readonly error: 'svcException'
  readonly errorCode: FailureCode
  readonly persona: Persona
  readonly category: string
  readonly errorMessage: string
  readonly context: FailureContext
}

/** The error body that tells a failure. */
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

/** The failure that an answer of another server tells; the server is named in its message. */
export function failureOf(status: number, body: unknown, from: string): Failure {
  const told = body as Partial<ErrorBody> | undefined
  const known = typeof told?.errorCode === 'string' && Object.hasOwn(failureKinds, told.errorCode)
  const code = known
    ? (told.errorCode as FailureCode)
    : ((Object.keys(statusOf) as FailureCode[]).find((key) => statusOf[key] === status) ??
      'internalServerError')
  const message = typeof told?.errorMessage === 'string' ? told.errorMessage : `HTTP status [${status}]`
  return new Failure(code, `[${from}] answered: ${message}`, { server: from })
}
