import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tierColors } from './tier-colors.ts'

test('gives the usual tiers the same colors in every cluster', () => {
  const others = Array.from({ length: 9 }, (_, index) => `tier-${index}`)
  for (const tiers of [[], ['glacier'], others]) {
    const colors = tierColors([...tiers, 'cold', 'hot', '_default_tier'])
    assert.deepEqual(
      ['hot', '_default_tier', 'cold'].map((tier) => colors.get(tier)),
      [0, 1, 2],
    )
  }
})

test('gives tiers different colors while colors are left', () => {
  for (const tiers of [
    ['a', 'b', 'c', 'd', 'e', 'f', 'g'],
    ['hot', 'b', 'c', 'd', 'e', 'f', 'g'],
  ])
    assert.equal(new Set(tierColors(tiers).values()).size, tiers.length)
  assert.ok([...tierColors(['a', 'b', 'c', 'd']).values()].every((color) => color >= 3))
})
