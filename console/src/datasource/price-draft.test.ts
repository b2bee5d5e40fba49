import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pricesOf } from './price-draft.ts'

test('typed prices have the shape of plan files; empty fields have no price', () => {
  assert.deepEqual(pricesOf({ currency: ' EUR ', perGibMonth: { hot: '0.25', cold: ' ', free: '0' } }), {
    currency: 'EUR',
    perGibMonth: { hot: 0.25, free: 0 },
  })
  assert.deepEqual(pricesOf({ currency: '', perGibMonth: {} }), { currency: undefined, perGibMonth: {} })
})

test('invalid prices are refused like in plan files', () => {
  for (const text of ['-1', 'cheap', '1e99']) {
    const read = pricesOf({ currency: '', perGibMonth: { hot: text } })
    assert.match('problem' in read ? read.problem : '', /prices\.perGibMonth\.hot/, text)
  }
})
