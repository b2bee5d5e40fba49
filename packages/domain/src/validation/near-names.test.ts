import assert from 'node:assert/strict'
import { it } from 'node:test'
import { nearNames, similarNames } from './index.ts'

const known = ['flights', 'flights_daily', 'wikipedia', 'koalas']

for (const [name, near] of [
  ['fligths', ['flights', 'koalas']],
  ['koala', ['koalas', 'flights']],
  ['wikipedia', ['wikipedia', 'flights']],
] as const) {
  it(`suggests [${near}] for [${name}]`, () => assert.deepEqual(nearNames(name, known, 2), near))
}

it('suggests nothing if there are no known names', () => assert.deepEqual(nearNames('flights', []), []))

for (const [name, similar] of [
  ['fligths', ['flights']],
  ['flights_dialy', ['flights_daily']],
  ['wiki', ['wikipedia']],
  ['koal', ['koalas']],
  ['orders', []],
  ['x', []],
] as const) {
  it(`returns [${similar}] as similar to [${name}]`, () =>
    assert.deepEqual(similarNames(name, known), similar))
}
