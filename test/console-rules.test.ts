// What the console says about rules, without a browser.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { lengthenedPeriod, periodInWords } from '../console/src/datasource/periods.ts'
import { differencesOf } from '../console/src/datasource/rule-differences.ts'

test('says periods in words, and makes them longer', () => {
  assert.equal(periodInWords('P7D'), '7 days')
  assert.equal(periodInWords('P1M7D'), '1 month and 7 days')
  assert.equal(periodInWords('P1Y2M3WT4H'), '1 year, 2 months, 3 weeks, and 4 hours')
  assert.equal(periodInWords('PT0S'), 'no time')
  assert.equal(periodInWords('7 days'), undefined)
  assert.equal(lengthenedPeriod('P7D', 'months'), 'P1M7D')
  assert.equal(lengthenedPeriod('P1M', 'months'), 'P2M')
  assert.equal(lengthenedPeriod('x', 'months'), undefined)
})

test('finds added, removed, and reordered rules', () => {
  const [a, b, c] = [{ type: 'a' }, { type: 'b' }, { type: 'c' }]
  assert.deepEqual(differencesOf([a, b], [a, c]), { added: [c], removed: [b], isReordered: false })
  assert.deepEqual(differencesOf([a, b, c], [b, a]), { added: [], removed: [c], isReordered: true })
  assert.deepEqual(differencesOf([a], [a, a]), { added: [a], removed: [], isReordered: false })
  assert.deepEqual(differencesOf([], []), { added: [], removed: [], isReordered: false })
})
