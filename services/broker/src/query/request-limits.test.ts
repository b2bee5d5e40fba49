import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Failure } from '@svc/domain/failure'
import { readNativeQuery } from './native-query.ts'
import { readSqlRequest } from './sql-request.ts'

const list = (length: number, entry: (index: number) => unknown): unknown[] =>
  Array.from({ length }, (_, index) => entry(index))
const sql = (members: object) => () => readSqlRequest({ query: 'SELECT 1', ...members }, '')
const scan = (members: object) => () =>
  readNativeQuery({ queryType: 'scan', dataSource: 'wiki', ...members }, '')
const context = (keys: number) =>
  Object.fromEntries(list(keys, (index) => [`key${index}`, 1]) as [string, 1][])
const day = '2026-01-01/P1D'
const inFilter = (count: number) => ({
  type: 'not',
  field: {
    type: 'or',
    fields: list(count / 1000, () => ({ type: 'interval', intervals: list(1000, () => day) })),
  },
})

describe('query size limits', () => {
  const refused: readonly [name: string, parse: () => unknown, message: string][] = [
    [
      'parameters',
      sql({ parameters: list(300_000, () => ({})) }),
      'Too many entries [300000] in [parameters]: expected at most [10000]',
    ],
    [
      'keys of the context of a statement',
      sql({ context: context(1001) }),
      'Too many entries [1001] in [context]: expected at most [1000]',
    ],
    [
      'keys of the context of a native query',
      scan({ context: context(1001) }),
      'Too many entries [1001] in [context]: expected at most [1000]',
    ],
    [
      'columns',
      scan({ columns: list(10_001, (index) => `c${index}`) }),
      'Too many entries [10001] in [columns]: expected at most [10000]',
    ],
    [
      'intervals',
      scan({ intervals: list(80_000, () => day) }),
      'Too many entries [80000] in [intervals]: expected at most [10000]',
    ],
    [
      'intervals of a spec',
      scan({ intervals: { type: 'intervals', intervals: list(80_000, () => day) } }),
      'Too many entries [80000] in [intervals]: expected at most [10000]',
    ],
    [
      'intervals in a filter',
      scan({ filter: inFilter(11_000) }),
      'Too many intervals [11000] in [filter]: expected at most [10000]',
    ],
    [
      'characters of a column name',
      scan({ columns: ['page', 'x'.repeat(1001)] }),
      'Invalid length [1001] of [columns[1]]: expected at most [1000] characters',
    ],
  ]
  for (const [name, parse, message] of refused) {
    it(`reject too many ${name}`, () => {
      assert.throws(parse, (error: Failure) => {
        assert.equal(error.code, 'invalidInput')
        assert.equal(error.message, message)
        return true
      })
    })
  }
  const accepted: readonly [name: string, parse: () => unknown][] = [
    ['parameters', sql({ parameters: list(10_000, () => ({ type: 'BIGINT', value: 1 })) })],
    ['keys of the context', sql({ context: context(1000) })],
    ['columns', scan({ columns: list(10_000, (index) => `c${index}`) })],
    ['intervals', scan({ intervals: list(10_000, () => day) })],
    ['intervals in a filter', scan({ filter: inFilter(10_000) })],
  ]
  for (const [name, parse] of accepted) it(`accept the maximum of ${name}`, () => assert.ok(parse()))
})
