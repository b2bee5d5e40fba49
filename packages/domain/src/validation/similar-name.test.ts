import assert from 'node:assert/strict'
import { it } from 'node:test'
import { similarName } from './index.ts'

const known = ['_default_tier', 'hot', 'cold', 'wikipedia']

for (const [name, similar] of [
  ['hott', 'hot'],
  ['colt', 'cold'],
  ['col', 'cold'],
  ['wikipdia', 'wikipedia'],
  ['wikipeida', 'wikipedia'],
  ['Wikipedia', 'wikipedia'],
  ['WIKIPEDIA', 'wikipedia'],
  ['default_tier', '_default_tier'],
  ['hot', undefined],
  ['warm', undefined],
  ['wikpdia', undefined],
  ['ho', undefined],
] as const) {
  it(`suggests [${similar}] for [${name}]`, () => assert.equal(similarName(name, known), similar))
}

it('suggests nothing beyond the first 200 names', () => {
  const many = Array.from({ length: 200 }, (_, index) => `tier-number-${index}`)
  assert.equal(similarName('hott', ['hot', ...many]), 'hot')
  assert.equal(similarName('hott', [...many, 'hot']), undefined)
})
