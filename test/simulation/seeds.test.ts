// Some seeds in every test run; `npm run test:simulation` simulates others.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runSeeds } from './run-seeds.ts'
import type { SeedOutcome } from './worker-protocol.ts'

const minutes = 10
const seeds = Array.from({ length: 6 }, (_, index) => index + 1)
const processes = 2

test('seeds violate no invariant, and a seed determines its run', async () => {
  const outcomes = new Map<number, SeedOutcome[]>(seeds.map((seed) => [seed, []]))
  // The first seed again, after another one in the same process.
  await runSeeds([...seeds, seeds[0]!], minutes, processes, (outcome) => {
    assert.deepEqual(outcome.violations, [], `seed ${outcome.seed}`)
    outcomes.get(outcome.seed)!.push(outcome)
  })
  const [[first, again] = []] = outcomes.values()
  assert.deepEqual({ ...again, cpuMs: 0 }, { ...first, cpuMs: 0 })
  const fingerprints = [...outcomes.values()].map(([one]) => one?.fingerprint)
  assert.equal(new Set(fingerprints).size, seeds.length)
})
