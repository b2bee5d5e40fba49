import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatBytes } from './amounts.ts'

test('formats bytes in a suitable unit', () => {
  assert.deepEqual([0, 999, 1000, 1_550_000, 2e15, 5e18].map(formatBytes), [
    '0 B',
    '999 B',
    '1.0 kB',
    '1.6 MB',
    '2.0 PB',
    '5000.0 PB',
  ])
})
