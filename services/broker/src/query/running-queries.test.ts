import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Failure } from '@svc/domain/failure'
import type { Caller } from '@svc/shared/security'
import { createRunningQueries, underWay } from './running-queries.ts'

const callerOf = (authenticator: string, identity: string, ...readable: string[]): Caller => ({
  identity,
  authenticator,
  groups: [],
  compatibility: false,
  can: (action, _type, name) => action === 'READ' && readable.includes(name),
  hasAny: () => readable.length > 0,
  sees: () => false,
})
const ann = callerOf('basic', 'ann')
const bob = callerOf('basic', 'bob', 'wiki')
const operator = callerOf('basic', 'operator', 'STATE')
const otherAnn = callerOf('directory', 'ann')

describe('cancelling', () => {
  // Who asks, what the query of ann reads, and how many are cancelled.
  const cases: readonly [
    name: string,
    who: Caller,
    reads: readonly string[] | undefined,
    told: number | RegExp,
  ][] = [
    ['of one by its own caller', ann, ['wiki'], 1],
    ['of one that has not been read, by its own caller', ann, undefined, 1],
    ['of one by another who may read all of it', bob, ['wiki'], 1],
    [
      'of one by another who may not read all of it',
      bob,
      ['wiki', 'secret'],
      /\[READ\] on all datasources that the query reads is missing/,
    ],
    ['of one that has not been read, by another', bob, undefined, 0],
    ['of one that has not been read, by who sees the state', operator, undefined, 1],
    ['of one that reads no datasource, by another', bob, [], /is missing/],
    ['of one that reads no datasource, by who sees the state', operator, [], 1],
    ['of one by somebody of that name from elsewhere', otherAnn, ['wiki'], /is missing/],
  ]
  for (const [name, who, reads, told] of cases) {
    it(name, () => {
      const queries = createRunningQueries()
      const query = queries.begin('a', ann)
      if (reads) query.onRead(reads)
      if (typeof told === 'number') assert.equal(queries.cancel('a', who), told)
      else assert.throws(() => queries.cancel('a', who), told)
      assert.equal(query.signal.aborted, told === 1)
      if (told === 1) assert.equal((query.signal.reason as Failure).code, 'cancelled')
    })
  }

  it('is of all that have the id and may be cancelled, and of no other', () => {
    const queries = createRunningQueries()
    const begun = ['a', 'a', 'a', 'b'].map((id) => queries.begin(id, ann))
    for (const [index, reads] of ['wiki', 'secret', 'wiki', 'wiki'].entries()) begun[index]?.onRead([reads])
    assert.equal(queries.cancel('a', bob), 2)
    assert.deepEqual(
      begun.map(({ signal }) => signal.aborted),
      [true, false, true, false],
    )
  })

  it('finds nothing of what is over, however it ended', async () => {
    const queries = createRunningQueries()
    assert.equal(await underWay(queries, 'a', ann, async () => queries.cancel('a', ann)), 1)
    await assert.rejects(underWay(queries, 'a', ann, () => Promise.reject(new Error('no'))))
    assert.equal(queries.cancel('a', ann), 0)
  })
})
