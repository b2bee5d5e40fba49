import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type FailureCode, failureKinds, notFound } from '@svc/domain/failure'
import { errorBody, failureOf, statusOf } from './index.ts'

describe('a failure from another server', () => {
  it('keeps its code, and names the server', () => {
    const failure = failureOf(404, errorBody(notFound('Task[a] not found', { task: 'a' })), 'http://there')
    assert.equal(failure.code, 'notFound')
    assert.equal(failure.message, '[http://there] responded: Task[a] not found')
    assert.deepEqual(failure.context, { server: 'http://there' })
  })

  const answers: readonly [name: string, status: number, body: unknown, code: FailureCode][] = [
    ['a status without a body', 503, undefined, 'unavailable'],
    ['a status with another body', 401, { error: 'Unauthorized' }, 'unauthorized'],
    ['a body that contradicts its status', 500, { errorCode: 'conflict', errorMessage: 'x' }, 'conflict'],
    ['an unknown code', 409, { errorCode: 'somethingNew', errorMessage: 'x' }, 'conflict'],
    ['a code that is special to JavaScript', 403, { errorCode: 'constructor' }, 'forbidden'],
    ['another special code', 404, { errorCode: '__proto__' }, 'notFound'],
    ['a code that is not a string', 413, { errorCode: ['conflict'] }, 'tooLarge'],
    ['an unknown status', 418, undefined, 'internalServerError'],
    ['a redirect', 307, undefined, 'internalServerError'],
    ['null', 415, null, 'unsupportedMediaType'],
    ['a string', 400, 'no', 'invalidInput'],
  ]
  for (const [name, status, body, code] of answers) {
    it(`is ${code} for ${name}`, () => {
      const failure = failureOf(status, body, 'there')
      assert.equal(failure.code, code)
      assert.ok(failure.message.startsWith('[there] responded: '))
      assert.equal(failure.category, failureKinds[code].category)
    })
  }

  it('keeps the status of every code', () => {
    for (const [code, status] of Object.entries(statusOf))
      assert.equal(failureOf(status, { errorCode: code }, '').code, code)
  })
})
