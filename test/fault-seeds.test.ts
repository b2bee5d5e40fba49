// A short fault seed in every test run; `npm run test:faults` runs other seeds for longer.
import assert from 'node:assert/strict'
import path from 'node:path'
import { after, test } from 'node:test'
import { repositoryRoot } from '@svc/cli/home'
import { runSeed } from './faults/run-seed.ts'
import { prepareHome } from './faults/world.ts'

const seconds = 6
const kept = path.join(repositoryRoot, '.cache/faults')
const prepared = await prepareHome()
after(() => prepared.remove())

const seed = 1
test(`${seconds} seconds of seed ${seed} violate no invariant`, async (context) => {
  const { verdict, file } = await runSeed(seed, seconds, path.join(kept, 'short'), prepared)
  context.diagnostic(`history: ${file}`)
  // A short report of a test run contains the names of failed tests, and nothing else.
  for (const { invariant, what } of verdict.violations) {
    const text = `${invariant}: ${what}`
    await context.test(text, () => assert.fail(text))
  }
})
