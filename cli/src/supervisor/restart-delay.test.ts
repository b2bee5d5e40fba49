import assert from 'node:assert/strict'
import { test } from 'node:test'
import { restartDelayMs } from './restart-delay.ts'

const cases: { name: string; lastDelayMs: number | undefined; livedMs: number; expect: number }[] = [
  { name: 'the first end', lastDelayMs: undefined, livedMs: 0, expect: 200 },
  { name: 'the second end', lastDelayMs: 200, livedMs: 100, expect: 400 },
  { name: 'the eighth end', lastDelayMs: 12_800, livedMs: 29_999, expect: 25_600 },
  { name: 'never longer than 30 s', lastDelayMs: 25_600, livedMs: 5, expect: 30_000 },
  { name: 'at the longest', lastDelayMs: 30_000, livedMs: 5, expect: 30_000 },
  { name: 'after 30 s of life', lastDelayMs: 30_000, livedMs: 30_000, expect: 200 },
]

for (const { name, lastDelayMs, livedMs, expect } of cases) {
  test(name, () => assert.equal(restartDelayMs(lastDelayMs, livedMs), expect))
}
