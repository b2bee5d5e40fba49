import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatBytes, formatCount, formatList } from './amounts.ts'
import { formatDuration } from './format-duration.ts'

test('formats bytes in a suitable unit', () => {
  assert.deepEqual([0, 999, 1000, 1_550_000, 999_940_000, 999_994_000, 2e15, 5e18].map(formatBytes), [
    '0 B',
    '999 B',
    '1.0 kB',
    '1.6 MB',
    '999.9 MB',
    '1.0 GB',
    '2.0 PB',
    '5000.0 PB',
  ])
})

test('joins the parts of a list', () => {
  const parts = ['a', 'b', 'c']
  assert.deepEqual(
    [0, 1, 2, 3].map((count) => formatList(parts.slice(0, count))),
    ['', 'a', 'a and b', 'a, b, and c'],
  )
})

test('formats durations in two units', () => {
  const cases: [ms: number, text: string][] = [
    [0, '1 s'],
    [59_400, '59 s'],
    [59_600, '1 min'],
    [200_000, '3 min 20 s'],
    [7_500_000, '2 h 5 min'],
    [7_200_000, '2 h'],
    [100 * 3_600_000, '4 d 4 h'],
  ]
  for (const [ms, text] of cases) assert.equal(formatDuration(ms), text)
})

test('formats 20,000 numbers in much less than a second', () => {
  const startedAt = process.threadCpuUsage()
  const texts = Array.from({ length: 20_000 }, (_, index) => formatCount(index))
  const { user, system } = process.threadCpuUsage(startedAt)
  assert.deepEqual([texts[999], texts[1000], texts.at(-1)], ['999', '1,000', '19,999'])
  assert.ok((user + system) / 1000 < 300, `${(user + system) / 1000} ms`)
})
