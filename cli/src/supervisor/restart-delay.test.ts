import assert from 'node:assert/strict'
import { test } from 'node:test'
import { restartDelayMs } from './restart-delay.ts'

const cases: { name: string; lastDelayMs: number | undefined; livedMs: number; expect: number }[] = [
  { name: 'after the first exit', lastDelayMs: undefined, livedMs: 0, expect: 200 },
  { name: 'after the second exit', lastDelayMs: 200, livedMs: 100, expect: 400 },
  { name: 'after the eighth exit', lastDelayMs: 12_800, livedMs: 29_999, expect: 25_600 },
  { name: 'at most 30 s', lastDelayMs: 25_600, livedMs: 5, expect: 30_000 },
  { name: 'stays at 30 s', lastDelayMs: 30_000, livedMs: 5, expect: 30_000 },
  { name: 'resets after 30 s of uptime', lastDelayMs: 30_000, livedMs: 30_000, expect: 200 },
]

for (const { name, lastDelayMs, livedMs, expect } of cases) {
  test(name, () => assert.equal(restartDelayMs(lastDelayMs, livedMs), expect))
}
