import assert from 'node:assert/strict'
import { test } from 'node:test'
import { costsOf, formatCostChange } from './costs.ts'
import { readPrices } from './prices.ts'

const gib = 2 ** 30
const tiers = {
  hot: { bytesBefore: 100 * gib, bytesAfter: 40 * gib },
  cold: { bytesBefore: 0, bytesAfter: 60 * gib },
  other: { bytesBefore: gib, bytesAfter: gib },
  empty: { bytesBefore: 0, bytesAfter: 0 },
}
const prices = { currency: 'EUR', perGibMonth: { hot: 0.5, cold: 0.1 } }

test('costs are sums over the tiers with a price; tiers without replicas are left out', () => {
  const costs = costsOf(prices, tiers)
  assert.deepEqual([costs.before, costs.after, costs.later], [50, 26, undefined])
  assert.deepEqual(
    costs.tiers.map(({ tier, price }) => [tier, price]),
    [
      ['hot', 0.5],
      ['cold', 0.1],
      ['other', undefined],
    ],
  )
  assert.equal(formatCostChange(costs.before, costs.after), '-24.00')
  assert.equal(formatCostChange(1, 1), '+0.00')
  assert.equal(formatCostChange(1, 0.999), '+0.00')
})

test('costs at the end of a horizon are those of its bytes', () => {
  const { hot, empty } = tiers
  const later = { hot: { ...hot, bytesLater: 10 * gib }, cold: { ...empty, bytesLater: 20 * gib } }
  assert.equal(costsOf(prices, later).later, 7)
})

test('a tier named like a property of every object has no price', () => {
  assert.equal(costsOf(prices, { constructor: tiers.hot }).tiers[0]!.price, undefined)
})

test('prices are numbers of at least 0', () => {
  assert.throws(
    () => readPrices({ perGibMonth: { hot: -1 } }, 'prices'),
    /\[-1\] .*\[prices.perGibMonth.hot\]/,
  )
})
