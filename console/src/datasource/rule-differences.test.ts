import assert from 'node:assert/strict'
import { test } from 'node:test'
import { differencesOf } from './rule-differences.ts'

const [a, b, c] = [{ period: 'P1D' }, { period: 'P2D' }, { period: 'P3D' }]

for (const { name, before, after, added, removed, isReordered } of [
  { name: 'the same list', before: [a, b], after: [{ ...a }, b], added: [], removed: [], isReordered: false },
  { name: 'another rule', before: [a, b], after: [a, c], added: [c], removed: [b], isReordered: false },
  { name: 'another order', before: [a, b, c], after: [b, a], added: [], removed: [c], isReordered: true },
  { name: 'a rule twice', before: [a], after: [a, a], added: [a], removed: [], isReordered: false },
  { name: 'one of two', before: [a, b, a], after: [a, b], added: [], removed: [a], isReordered: false },
])
  test(`compares rules: ${name}`, () => {
    assert.deepEqual(differencesOf(before, after), { added, removed, isReordered })
  })

test('compares 10,000 rules in a fraction of a second', () => {
  const list = (from: number) => Array.from({ length: 10_000 }, (_, at) => ({ period: `P${from + at}D` }))
  const before = process.threadCpuUsage()
  const { added, removed } = differencesOf(list(0), list(100))
  assert.deepEqual([added.length, removed.length], [100, 100])
  assert.ok(process.threadCpuUsage(before).user < 500_000)
})
