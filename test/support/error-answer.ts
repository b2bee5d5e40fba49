import assert from 'node:assert/strict'
import type { Answer } from '@svc/shared/testing'

/** The fields of an error answer for each status. Repeats the table of the interface on purpose. */
const kinds: Readonly<Record<number, { errorCode: string; category: string; persona: string }>> = {
  400: { errorCode: 'invalidInput', category: 'INVALID_INPUT', persona: 'USER' },
  401: { errorCode: 'unauthorized', category: 'UNAUTHORIZED', persona: 'USER' },
  403: { errorCode: 'forbidden', category: 'FORBIDDEN', persona: 'USER' },
  404: { errorCode: 'notFound', category: 'NOT_FOUND', persona: 'USER' },
  405: { errorCode: 'methodNotAllowed', category: 'UNSUPPORTED', persona: 'USER' },
  408: { errorCode: 'requestTimedOut', category: 'TIMEOUT', persona: 'USER' },
  409: { errorCode: 'conflict', category: 'CONFLICT', persona: 'USER' },
  413: { errorCode: 'tooLarge', category: 'CAPACITY_EXCEEDED', persona: 'USER' },
  415: { errorCode: 'unsupportedMediaType', category: 'UNSUPPORTED', persona: 'USER' },
  429: { errorCode: 'busy', category: 'CAPACITY_EXCEEDED', persona: 'USER' },
  500: { errorCode: 'internalServerError', category: 'RUNTIME_FAILURE', persona: 'OPERATOR' },
  503: { errorCode: 'unavailable', category: 'UNAVAILABLE', persona: 'OPERATOR' },
}

/** Checks that an answer is an error with this status, in the standard format and with the right headers. */
export function assertError(answer: Answer, status: number, about = ''): void {
  const shown = `${about} ${answer.status} ${answer.text.slice(0, 500)}`
  assert.equal(answer.status, status, shown)
  const kind = kinds[status]
  assert.ok(kind, `unknown error status ${status}: ${shown}`)
  assert.match(String(answer.headers['content-type']), /^application\/json\b/, shown)
  const body = answer.json as Record<string, unknown> | undefined
  assert.ok(body !== undefined, `not JSON: ${shown}`)
  const { errorMessage, context, ...rest } = body
  assert.deepEqual(rest, { error: 'svcException', ...kind }, shown)
  assert.ok(typeof errorMessage === 'string' && errorMessage.length > 0, shown)
  assert.ok(typeof context === 'object' && context !== null && !Array.isArray(context), shown)
  assert.ok(
    Object.values(context).every((value) => typeof value === 'string'),
    shown,
  )
  // Stack traces and source paths must only be in the log.
  assert.doesNotMatch(answer.text, /\bat .+:\d+:\d+|\/src\/|node_modules/, shown)
  if (status === 401) assert.match(String(answer.headers['www-authenticate']), /^Basic\b/, shown)
  if (status === 405) assert.match(String(answer.headers.allow), /^[A-Z, ]+$/, shown)
}

/** The message of an error answer. */
export function messageOf(answer: Answer): string {
  return String((answer.json as { errorMessage?: unknown } | undefined)?.errorMessage)
}
