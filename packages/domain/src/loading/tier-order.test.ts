import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inDruidOrder } from './tier-order.ts'

test('tiers are in the order of a hash set in Java', () => {
  assert.deepEqual(inDruidOrder(['hot', 'cold', 'warm', '_default_tier']), [
    '_default_tier',
    'warm',
    'cold',
    'hot',
  ])
})

test('more tiers have more buckets', () => {
  const tiers = Array.from({ length: 20 }, (_, number) => `t${number}`)
  const order = 't4 t5 t6 t7 t8 t9 t10 t12 t11 t14 t13 t16 t15 t18 t17 t0 t1 t19 t2 t3'
  assert.deepEqual(inDruidOrder(tiers), order.split(' '))
})
