/** Who can fix a failure. */
export const personas = ['USER', 'ADMIN', 'OPERATOR', 'DEVELOPER'] as const
export type Persona = (typeof personas)[number]

/**
 * The kinds of failures: the `errorCode` in the response, the `category` that clients can branch on, and the persona
 * that can fix it. The HTTP layer maps each kind to a status.
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

/** The name of a kind of failure, used as the `errorCode` of a response. */
export type FailureCode = keyof typeof failureKinds

/** Details that locate a failure: the field, server, or id. Never contains a secret or another user's data. */
export type FailureContext = Readonly<Record<string, string>>

/** An expected failure that can be shown to the person who caused it or can fix it. The only error class. */
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

  /** The category that clients branch on. */
  get category(): string {
    return failureKinds[this.code].category
  }
}

type Build = (message: string, context?: FailureContext, cause?: unknown) => Failure

const build =
  (code: FailureCode): Build =>
  (message, context, cause) =>
    new Failure(code, message, context, cause)

/** The request is invalid. The message names the field, the value, and what is expected. */
export const invalidInput = build('invalidInput')
/** Missing or invalid credentials. */
export const unauthorized = build('unauthorized')
/** The user is known but lacks the permission. */
export const forbidden = build('forbidden')
/** The requested object does not exist. */
export const notFound = build('notFound')
/** The path does not support this method. */
export const methodNotAllowed = build('methodNotAllowed')
/** The request conflicts with the current state. */
export const conflict = build('conflict')
/** A limit is exceeded. */
export const tooLarge = build('tooLarge')
/** The content type of the body is not supported. */
export const unsupportedMediaType = build('unsupportedMediaType')
/** The concurrency limit is reached. Clients can retry later. */
export const busy = build('busy')
/** The operation exceeded its timeout. */
export const timedOut = build('timedOut')
/** The operation was canceled on request. */
export const cancelled = build('cancelled')
/** A dependency is unavailable. Clients can retry. */
export const unavailable = build('unavailable')

/** Returns the message of anything thrown. For a socket error with several attempts, returns the first one. */
export function describeError(error: unknown): string {
  if (error instanceof AggregateError && error.message === '' && error.errors.length > 0) {
    return describeError(error.errors[0])
  }
  return error instanceof Error ? error.message || error.name : String(error)
}
