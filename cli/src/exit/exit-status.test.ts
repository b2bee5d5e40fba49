import assert from 'node:assert/strict'
import { describe, it, mock } from 'node:test'
import { Failure, type FailureCode, failureKinds } from '@svc/domain/failure'
import { exitStatusHelp, exitStatusOf } from './exit-status.ts'

const other: Partial<Record<FailureCode, number>> = {
  invalidInput: 2,
  notFound: 2,
  unauthorized: 4,
  forbidden: 4,
  requestTimedOut: 6,
  timedOut: 6,
  cancelled: 130,
}

/** The status of an error, and what was printed. */
function statusOf(error: unknown): { status: number; printed: string } {
  const write = mock.method(process.stderr, 'write', () => true)
  try {
    const status = exitStatusOf(error)
    return { status, printed: write.mock.calls.map(({ arguments: [text] }) => String(text)).join('') }
  } finally {
    write.mock.restore()
  }
}

describe('the exit status', () => {
  for (const code of Object.keys(failureKinds) as FailureCode[])
    it(`of a failure of the kind ${code} is ${other[code] ?? 1}, with one sentence`, () => {
      const { status, printed } = statusOf(new Failure(code, 'It is so'))
      assert.equal(status, other[code] ?? 1)
      assert.equal(printed, 'svc: It is so\n')
    })

  it('of a bug is 1, with its stack', () => {
    const { status, printed } = statusOf(new TypeError('oops'))
    assert.equal(status, 1)
    assert.match(printed, /^svc: oops\nTypeError: oops\n {4}at /)
  })

  it('is explained by the help in lines of at most 80 characters', () => {
    const lines = exitStatusHelp().trim().split('\n').slice(1)
    assert.deepEqual(
      lines.map((line) => Number.parseInt(line, 10)),
      [0, 1, 2, 3, 4, 5, 6, 130],
    )
    for (const line of lines) assert.ok(line.length <= 80, line)
  })
})
