import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parseOptions } from '../cluster/index.ts'
import { sampleDays } from '../sample/index.ts'
import { demoDays, demoHistoricals, demoSample, demoSteps, demoTiers } from './steps.ts'
import { missingFor, targetOf } from './target.ts'
import { view } from './test-view.ts'

const tiers = [...parseOptions({ historicals: demoHistoricals }).historicals].map(([tier, servers]) => ({
  tier,
  servers,
}))

const endMs = Date.UTC(2026, 2, 1)

test('the demo covers exactly the days of the sample data', () => {
  const texts = [...sampleDays(['2001-01-01T00:00:00Z,a'], { ...demoSample, endMs })]
  assert.deepEqual(
    demoDays(endMs).map(({ start }) => start),
    texts.map((text) => Date.parse(text.slice(0, 10))),
  )
})

describe('each step requires copies on the expected tiers', () => {
  // Copies by tier, and how many days have any.
  const expected: Record<string, [number, number]>[] = [
    { hot: [0, 0], _default_tier: [180, 90], cold: [0, 0] },
    { hot: [56, 28], _default_tier: [31, 31], cold: [31, 31] },
    { hot: [28, 14], _default_tier: [45, 45], cold: [31, 31] },
    { hot: [14, 7], _default_tier: [52, 52], cold: [31, 31] },
    { hot: [14, 7], _default_tier: [52, 52], cold: [0, 0] },
    { hot: [0, 0], _default_tier: [0, 0], cold: [0, 0] },
  ]
  const steps = demoSteps()
  assert.equal(steps.length, expected.length)
  for (const [index, { title, rules }] of steps.entries()) {
    // The data ends at midnight, so the time of day at which the demo runs does not matter.
    for (const now of [endMs + 1, endMs + 86_399_999]) {
      test(`${title}, at ${now}`, () => {
        const target = targetOf(rules, demoDays(endMs), tiers, now)
        const copies = [...target].map(([tier, byDay]) => [
          tier,
          [byDay.reduce((sum, count) => sum + count, 0), byDay.filter((count) => count > 0).length],
        ])
        assert.deepEqual(Object.fromEntries(copies), expected[index])
      })
    }
  }
})

test('requires no more copies on a tier than it has servers', () => {
  const rules = [{ type: 'loadForever', tieredReplicants: { cold: 3, none: 1 } }]
  const target = targetOf(rules, demoDays(endMs).slice(0, 2), tiers, 0)
  assert.deepEqual(Object.fromEntries(target), { hot: [0, 0], _default_tier: [0, 0], cold: [1, 1] })
})

describe('reports what is missing', () => {
  const target = new Map([
    ['hot', [2, 0, 0]],
    ['cold', [0, 1, 1]],
  ])
  const cases: { name: string; hot: number[]; cold: number[]; queued?: number; expect: string[] }[] = [
    { name: 'nothing', hot: [2, 0, 0], cold: [0, 1, 1], expect: [] },
    {
      name: 'loads and drops',
      hot: [1, 2, 2],
      cold: [0, 0, 1],
      expect: [
        'tier [hot] is missing 1 replica',
        'tier [hot] has 4 surplus replicas',
        'tier [cold] is missing 1 replica',
      ],
    },
    {
      name: 'queued loads and drops',
      hot: [2, 0, 0],
      cold: [0, 1, 1],
      queued: 3,
      expect: ['0 loads and 3 drops are still queued'],
    },
  ]
  for (const { name, hot, cold, queued = 0, expect } of cases) {
    test(name, () => {
      const seen = { ...view({ hot, cold }), queuedDrops: queued }
      assert.deepEqual(missingFor(target, seen), expect)
    })
  }
  test('a tier without servers', () => {
    assert.deepEqual(missingFor(new Map([['hot', [2]]]), view({})), ['tier [hot] is missing 2 replicas'])
  })
})

test('shows exactly the tiers of the cluster', () => {
  assert.deepEqual([...demoTiers].sort(), tiers.map(({ tier }) => tier).sort())
})
