import assert from 'node:assert/strict'
import { test } from 'node:test'
import { plainBar, progressBar } from './progress-bar.ts'

test('draws a bar of the given width for any fraction', () => {
  const bars = [-1, 0, 0.5, 1, 7].map((fraction) => progressBar(fraction, 4, plainBar))
  assert.deepEqual(bars, ['----', '----', '##--', '####', '####'])
})
