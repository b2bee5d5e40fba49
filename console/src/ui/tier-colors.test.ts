import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tierColors } from './tier-colors.ts'

test('the usual tiers have the same colors next to any other tiers', () => {
  const others = Array.from({ length: 9 }, (_, index) => `tier-${index}`)
  for (const tiers of [[], ['glacier'], others]) {
    const colors = tierColors([...tiers, 'cold', 'hot', '_default_tier'])
    assert.deepEqual(
      ['hot', '_default_tier', 'cold'].map((tier) => colors.get(tier)),
      [0, 1, 2],
    )
  }
})

test('tiers have different colors as long as there are enough', () => {
  const colors = tierColors(['a', 'b', 'c', 'd'])
  assert.equal(new Set(colors.values()).size, 4)
  assert.ok([...colors.values()].every((color) => color >= 3 && color < 7))
})
