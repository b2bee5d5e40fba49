// Sends a sample of the hostile requests: none of them blocks or crashes a server, or bloats its memory. `npm
// run test:hostile` sends all of them.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { attack } from './hostile/attack.ts'
import { sampleCases, storedCases } from './hostile/cases.ts'
import { seededRandom } from './support/random.ts'
import { loadRouteTables } from './support/route-tables.ts'

test('hostile requests do not block or crash a server or keep its memory', async (context) => {
  const random = seededRandom()
  context.diagnostic(`SVC_TEST_SEED=${random.seed}`)
  const endpoints = await loadRouteTables()
  const groups = [sampleCases(endpoints, random), ...storedCases(endpoints)]
  const report = await attack(groups, random, { baselineMs: 3000, maxSettleMs: 20_000 }, () => undefined)
  context.diagnostic(`${report.requests} requests in ${Math.round(report.durationMs)} ms`)
  assert.ok(report.requests >= groups.flat().length)
  assert.deepEqual(report.problems, [])
})
