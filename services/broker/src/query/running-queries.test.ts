import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Failure } from '@svc/domain/failure'
import type { Caller } from '@svc/shared/security'
import { testCaller } from '@svc/shared/testing'
import { createRunningQueries, whileCancellable } from './running-queries.ts'

const callerOf = (authenticator: string, identity: string, ...readable: string[]): Caller =>
  testCaller((action, _type, name) => action === 'READ' && readable.includes(name), {
    identity,
    authenticator,
  })
const ann = callerOf('basic', 'ann')
const bob = callerOf('basic', 'bob', 'wiki')
const operator = callerOf('basic', 'operator', 'STATE')
const otherAnn = callerOf('directory', 'ann')

describe('canceling queries', () => {
  // Who cancels, what ann's query reads, and the number of canceled queries or the error.
  const cases: readonly [
    name: string,
    who: Caller,
    reads: readonly string[] | undefined,
    expected: number | RegExp,
  ][] = [
    ['lets callers cancel their own query', ann, ['wiki'], 1],
    ['lets callers cancel their own query before it is parsed', ann, undefined, 1],
    ['lets users cancel a query if they may read all of its datasources', bob, ['wiki'], 1],
    [
      'rejects users who may not read all datasources of the query',
      bob,
      ['wiki', 'secret'],
      /requires permission \[READ\] on every datasource that it reads$/,
    ],
    ['hides a query that is not parsed yet from other users', bob, undefined, 0],
    ['lets users who may read the state cancel a query before it is parsed', operator, undefined, 1],
    [
      'rejects other users if the query reads no datasource',
      bob,
      [],
      /query that reads no datasource requires permission \[READ\] on \[STATE\]$/,
    ],
    ['lets users who may read the state cancel a query that reads no datasource', operator, [], 1],
    [
      'rejects a user with the same name from another authenticator',
      otherAnn,
      ['wiki'],
      /requires permission/,
    ],
  ]
  for (const [name, who, reads, expected] of cases) {
    it(name, async () => {
      const queries = createRunningQueries()
      const query = queries.begin('a', ann)
      if (reads) query.onRead(reads)
      if (typeof expected === 'number') assert.equal(await queries.cancel('a', who), expected)
      else await assert.rejects(queries.cancel('a', who), expected)
      assert.equal(query.signal.aborted, expected === 1)
      if (expected === 1) assert.equal((query.signal.reason as Failure).code, 'cancelled')
    })
  }

  it('cancels only queries that have the id and that the caller may cancel', async () => {
    const queries = createRunningQueries()
    const begun = ['a', 'a', 'a', 'b'].map((id) => queries.begin(id, ann))
    for (const [index, reads] of ['wiki', 'secret', 'wiki', 'wiki'].entries()) begun[index]?.onRead([reads])
    assert.equal(await queries.cancel('a', bob), 2)
    assert.deepEqual(
      begun.map(({ signal }) => signal.aborted),
      [true, false, true, false],
    )
  })

  it('does not find queries that succeeded or failed', async () => {
    const queries = createRunningQueries()
    assert.equal(await whileCancellable(queries, 'a', ann, async () => queries.cancel('a', ann)), 1)
    await assert.rejects(whileCancellable(queries, 'a', ann, () => Promise.reject(new Error('no'))))
    assert.equal(await queries.cancel('a', ann), 0)
  })
})
