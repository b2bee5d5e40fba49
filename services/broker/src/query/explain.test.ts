import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withoutExplain } from './explain.ts'

const cases: readonly [sql: string, rest: string | undefined][] = [
  ['EXPLAIN PLAN FOR SELECT 1', '                 SELECT 1'],
  ['explain\n plan  for\tSELECT 1', '       \n           \tSELECT 1'],
  ['-- why\n/* not */ EXPLAIN PLAN FOR (SELECT 1)', '      \n                           (SELECT 1)'],
  ['EXPLAIN SELECT 1', undefined],
  ['EXPLAIN PLAN FORSELECT 1', undefined],
  ["SELECT 'EXPLAIN PLAN FOR x'", undefined],
  ['-- EXPLAIN PLAN FOR SELECT 1', undefined],
  ['/**//* a *//**/EXPLAIN PLAN FOR SELECT 1', `${' '.repeat(32)}SELECT 1`],
  ['/* EXPLAIN PLAN FOR SELECT 1', undefined],
]
test('skips many comments in linear time', () => {
  // With backtracking, thirty comments took minutes.
  assert.equal(withoutExplain(`${'/**/'.repeat(100_000)}SELECT 1`), undefined)
})
for (const [sql, rest] of cases) {
  test(`${rest === undefined ? 'leaves' : 'strips EXPLAIN PLAN FOR from'} ${JSON.stringify(sql)}`, () => {
    const found = withoutExplain(sql)
    assert.equal(found?.trim(), rest?.trim())
    if (found !== undefined) assert.equal(found.length, sql.length)
  })
}
