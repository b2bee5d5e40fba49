import assert from 'node:assert/strict'
import { test } from 'node:test'
import { finish } from '../steps/index.ts'
import { dayMs, formatInterval } from '../time/index.ts'
import { ruleLaneOf } from './index.ts'
import { previewGiven, testNow } from './test-preview.ts'

const axis = { start: testNow - 10 * dayMs, widthMs: dayMs, count: 10 }

/** Returns the numbers of the rules that apply in each bucket, for segments given by their first and last day on the axis. */
function rulesOfDays(rules: readonly object[], segments: readonly (readonly [from: number, to: number])[]) {
  const { result } = previewGiven({
    rules: { wiki: rules },
    segments: segments.map(([from, to]) => ({
      dataSource: 'wiki',
      interval: formatInterval({ start: axis.start + from * dayMs, end: axis.start + to * dayMs }),
      version: 'v1',
      partitionNum: 0,
      size: 10,
    })),
    servers: [],
  })
  return finish(ruleLaneOf(result.outcome, 'wiki', axis))
}

const byPeriod = (days: number) => ({
  type: 'loadByPeriod',
  period: `P${days}D`,
  tieredReplicants: { hot: 1 },
})

for (const { name, rules, segments, expected } of [
  {
    name: 'of daily segments, the one of the period',
    rules: [byPeriod(3), { type: 'dropForever' }],
    segments: [5, 6, 7, 8].map((day) => [day, day + 1] as const),
    expected: [[], [], [], [], [], [1], [1], [0], [0], []],
  },
  {
    name: 'of a segment that reaches into a later period, the rule of that period in all its buckets',
    rules: [byPeriod(3), { type: 'dropForever' }],
    segments: [[2, 8]] as const,
    expected: [[], [], [0], [0], [0], [0], [0], [0], [], []],
  },
  {
    name: 'of long and short segments in one bucket, both',
    rules: [byPeriod(3), { type: 'dropForever' }],
    segments: [
      [0, 8],
      [4, 5],
    ] as const,
    expected: [[0], [0], [0], [0], [0, 1], [0], [0], [0], [], []],
  },
  {
    name: 'of segments that reach beyond both ends of the axis, the default rule',
    rules: [],
    segments: [
      [-30, 1],
      [9, 40],
      [50, 60],
    ] as const,
    expected: [[0], [], [], [], [], [], [], [], [], [0]],
  },
]) {
  test(`returns which rules apply in each bucket: ${name}`, () => {
    const { buckets } = rulesOfDays(rules, segments)
    assert.deepEqual(
      buckets.map(({ first }) => first),
      expected,
    )
  })
}

test('lists the first rules of a bucket, and counts all of them', () => {
  const rules = [1, 2, 3, 4, 5].map((days) => byPeriod(days * 2))
  const segments = [1, 3, 5, 7, 9].map((day) => [0, day] as const)
  const { rules: listed, buckets } = rulesOfDays(rules, segments)
  assert.deepEqual(buckets[0], { first: [0, 1, 2], count: 5 })
  assert.deepEqual(
    [...listed.values()].map(({ index, rule }) => `${index} ${rule.period}`),
    ['0 P2D', '1 P4D', '2 P6D'],
  )
})
