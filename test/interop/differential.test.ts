// A short run of `npm run test:differential`: the same random requests to svc and to Druid 37.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runDifferential } from '../druid/differential/run.ts'

test('svc answers random requests like Druid 37, except for listed differences', async (scope) => {
  // Everyone gets the same seeds, so that a failure can be repeated.
  const { requests, unlisted } = await runDifferential({ firstSeed: 1, seeds: 3, requests: 100 }, (line) =>
    scope.diagnostic(line),
  )
  assert.equal(requests, 300)
  assert.deepEqual(unlisted, [])
})
