import assert from 'node:assert/strict'
import { test } from 'node:test'
import { plainBar, progressBar } from './progress-bar.ts'

test('a bar is as wide as asked, whatever the fraction', () => {
  const bars = [-1, 0, 0.5, 1, 7].map((fraction) => progressBar(fraction, 4, plainBar))
  assert.deepEqual(bars, ['----', '----', '##--', '####', '####'])
})
