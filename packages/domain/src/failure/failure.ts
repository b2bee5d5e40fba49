/** Who can act on a failure. */
export type Persona = 'USER' | 'ADMIN' | 'OPERATOR' | 'DEVELOPER'

/**
 * What kinds of failure there are: the `errorCode` callers see, the `category` they can branch on, and who can
 * act on it. The HTTP status of each stands in one table of the HTTP layer.
 */
export const failureKinds = {
  invalidInput: { category: 'INVALID_INPUT', persona: 'USER' },
  unauthorized: { category: 'UNAUTHORIZED', persona: 'USER' },
  forbidden: { category: 'FORBIDDEN', persona: 'USER' },
  notFound: { category: 'NOT_FOUND', persona: 'USER' },
  methodNotAllowed: { category: 'UNSUPPORTED', persona: 'USER' },
  conflict: { category: 'CONFLICT', persona: 'USER' },
  tooLarge: { category: 'CAPACITY_EXCEEDED', persona: 'USER' },
  unsupportedMediaType: { category: 'UNSUPPORTED', persona: 'USER' },
  busy: { category: 'CAPACITY_EXCEEDED', persona: 'USER' },
  requestTimedOut: { category: 'TIMEOUT', persona: 'USER' },
  timedOut: { category: 'TIMEOUT', persona: 'USER' },
  unavailable: { category: 'UNAVAILABLE', persona: 'OPERATOR' },
  internalServerError: { category: 'RUNTIME_FAILURE', persona: 'OPERATOR' },
  cancelled: { category: 'CANCELED', persona: 'USER' },
} as const satisfies Record<string, { category: string; persona: Persona }>

/** The name of a kind of failure, as the `errorCode` of an answer. */
export type FailureCode = keyof typeof failureKinds

/** Texts that locate a failure: the field, the server, the id. Never a secret or another user's data. */
export type FailureContext = Readonly<Record<string, string>>

/** The one error class: an expected failure that may be shown to whoever caused or can mend it. */
export class Failure extends Error {
  readonly code: FailureCode
  readonly persona: Persona
  readonly context: FailureContext

  constructor(code: FailureCode, message: string, context: FailureContext = {}, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'Failure'
    this.code = code
    this.persona = failureKinds[code].persona
    this.context = context
  }

  /** The category that callers branch on. */
  get category(): string {
    return failureKinds[this.code].category
  }
}

type Build = (message: string, context?: FailureContext, cause?: unknown) => Failure

const build =
  (code: FailureCode): Build =>
  (message, context, cause) =>
    new Failure(code, message, context, cause)

/** The request itself is wrong; the message names the field, the value and what is allowed. */
export const invalidInput = build('invalidInput')
/** No credentials, or ones that do not hold. */
export const unauthorized = build('unauthorized')
/** Known caller, missing permission. */
export const forbidden = build('forbidden')
/** The thing that the request names does not exist. */
export const notFound = build('notFound')
/** The path exists, but not with this method. */
export const methodNotAllowed = build('methodNotAllowed')
/** The request contradicts the present state. */
export const conflict = build('conflict')
/** More than a limit allows. */
export const tooLarge = build('tooLarge')
/** A body of a content type that is not read here. */
export const unsupportedMediaType = build('unsupportedMediaType')
/** As much is under way as may be; worth trying again later. */
export const busy = build('busy')
/** It took longer than it may. */
export const timedOut = build('timedOut')
/** Somebody asked for its end. */
export const cancelled = build('cancelled')
/** Something this depends on is away; worth trying again. */
export const unavailable = build('unavailable')

/** The message of anything thrown, in one line: a socket error of several attempts tells its first one. */
export function describeError(error: unknown): string {
  if (error instanceof AggregateError && error.message === '' && error.errors.length > 0) {
    return describeError(error.errors[0])
  }
  return error instanceof Error ? error.message || error.name : String(error)
}
