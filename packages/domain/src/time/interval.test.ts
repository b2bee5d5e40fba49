import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  abuts,
  contains,
  enclosingInterval,
  eternity,
  formatInterval,
  type Interval,
  intersection,
  overlaps,
  parseInterval,
  sameInterval,
} from './index.ts'

const eternityText = '-146136543-09-08T08:23:32.096Z/146140482-04-24T15:36:27.903Z'

for (const { text, expected } of [
  { text: '2026-01-01/2026-02-01', expected: '2026-01-01T00:00:00.000Z/2026-02-01T00:00:00.000Z' },
  { text: '2026-01-01/P1M', expected: '2026-01-01T00:00:00.000Z/2026-02-01T00:00:00.000Z' },
  { text: 'P1M/2026-03-31', expected: '2026-02-28T00:00:00.000Z/2026-03-31T00:00:00.000Z' },
  { text: '2026-01-01T00:00+01:00/PT1H', expected: '2025-12-31T23:00:00.000Z/2026-01-01T00:00:00.000Z' },
  { text: '2026-01-01/2026-01-01', expected: '2026-01-01T00:00:00.000Z/2026-01-01T00:00:00.000Z' },
  { text: eternityText, expected: eternityText },
  {
    text: `2026-01-01/${eternityText.split('/')[1]}`,
    expected: `2026-01-01T00:00:00.000Z/${eternityText.split('/')[1]}`,
  },
]) {
  test(`parses [${text}] as [${expected}]`, () => assert.equal(formatInterval(parseInterval(text)), expected))
}

test('parses eternity as two infinities', () => assert.deepEqual(parseInterval(eternityText), eternity))

for (const text of [
  '',
  '/',
  'yesterday',
  '2026-01-01',
  '2026-01-01/',
  '/2026-01-01',
  'P1D/P1D',
  '2026-01-01/P-1D',
  '2026-01-01/2026-02-01/2026-03-01',
  '2026-01-01/P300000Y',
  `${eternityText.split('/')[0]}/P1D`,
  `${eternityText.split('/')[1]}/${eternityText.split('/')[1]}`,
]) {
  test(`rejects [${text}] as an interval`, () => {
    assert.throws(() => parseInterval(text, 'rules[0].interval'), {
      code: 'invalidInput',
      message: `Invalid value [${text}] for [rules[0].interval]: expected an ISO 8601 interval such as [2026-01-01/2026-02-01], [2026-01-01T00:00:00Z/P1M], or [P1M/2026-02-01]`,
    })
  })
}

for (const text of ['eternity', 'ETERNITY']) {
  test(`rejects [${text}] and shows how to write eternity`, () => {
    assert.throws(() => parseInterval(text, 'rules[0].interval'), {
      code: 'invalidInput',
      message: `Invalid value [${text}] for [rules[0].interval]: expected [${eternityText}] for all of time`,
    })
  })
}

test('rejects an interval that ends before it starts', () => {
  assert.throws(() => parseInterval('2026-02-01/2026-01-01'), {
    code: 'invalidInput',
    message:
      'Invalid value [2026-02-01/2026-01-01] for [interval]: expected an interval that does not end before it starts',
  })
})

test('parses every formatted interval back', () => {
  const instants = fc.integer({ min: -8.64e15, max: 8.64e15 })
  fc.assert(
    fc.property(instants, instants, (a, b) => {
      const interval = { start: Math.min(a, b), end: Math.max(a, b) }
      assert.deepEqual(parseInterval(formatInterval(interval)), interval)
    }),
  )
})

const cases = [
  { name: 'touching', a: [0, 10], b: [10, 20], overlap: false, contain: false, abut: true },
  { name: 'sharing one millisecond', a: [0, 11], b: [10, 20], overlap: true, contain: false, abut: false },
  { name: 'apart', a: [0, 5], b: [10, 20], overlap: false, contain: false, abut: false },
  { name: 'equal', a: [0, 10], b: [0, 10], overlap: true, contain: true, abut: false },
  { name: 'within', a: [0, 10], b: [2, 10], overlap: true, contain: true, abut: false },
  { name: 'around', a: [2, 10], b: [0, 10], overlap: true, contain: false, abut: false },
  {
    name: 'eternity around',
    a: [-Infinity, Infinity],
    b: [0, 10],
    overlap: true,
    contain: true,
    abut: false,
  },
  {
    name: 'eternity within',
    a: [0, 10],
    b: [-Infinity, Infinity],
    overlap: true,
    contain: false,
    abut: false,
  },
  { name: 'an instant inside', a: [0, 10], b: [5, 5], overlap: true, contain: true, abut: false },
] as const
for (const { name, a, b, overlap, contain, abut } of cases) {
  test(`compares intervals: ${name}`, () => {
    const [first, second] = [
      { start: a[0], end: a[1] },
      { start: b[0], end: b[1] },
    ]
    assert.equal(overlaps(first, second), overlap)
    assert.equal(overlaps(second, first), overlap)
    assert.equal(contains(first, second), contain)
    assert.equal(abuts(first, second), abut)
    assert.equal(abuts(second, first), abut)
  })
}

const given = ([start, end]: readonly [number, number]): Interval => ({ start, end })
const pairs: readonly {
  readonly a: readonly [number, number]
  readonly b: readonly [number, number]
  readonly same: boolean
  readonly shared: readonly [number, number]
  readonly around: readonly [number, number]
}[] = [
  { a: [0, 10], b: [0, 10], same: true, shared: [0, 10], around: [0, 10] },
  { a: [0, 10], b: [0, 11], same: false, shared: [0, 10], around: [0, 11] },
  { a: [1, 10], b: [0, 10], same: false, shared: [1, 10], around: [0, 10] },
  { a: [0, 10], b: [10, 20], same: false, shared: [10, 10], around: [0, 20] },
  { a: [0, 5], b: [10, 20], same: false, shared: [10, 5], around: [0, 20] },
  { a: [0, 10], b: [5, 5], same: false, shared: [5, 5], around: [0, 10] },
  { a: [-5, 10], b: [0, 20], same: false, shared: [0, 10], around: [-5, 20] },
  {
    a: [-Infinity, Infinity],
    b: [-Infinity, 7],
    same: false,
    shared: [-Infinity, 7],
    around: [-Infinity, Infinity],
  },
  {
    a: [-Infinity, Infinity],
    b: [-Infinity, Infinity],
    same: true,
    shared: [-Infinity, Infinity],
    around: [-Infinity, Infinity],
  },
]
for (const { a, b, same, shared, around } of pairs) {
  test(`intervals [${a}] and [${b}] have intersection [${shared}] and umbrella [${around}]`, () => {
    for (const [first, second] of [
      [given(a), given(b)],
      [given(b), given(a)],
    ] as const) {
      assert.equal(sameInterval(first, second), same)
      assert.deepEqual(intersection(first, second), given(shared))
      assert.deepEqual(enclosingInterval([first, second]), given(around))
    }
  })
}

test('enclosingInterval contains all intervals and does not change them', () => {
  const intervals = [given([5, 6]), given([0, 1]), given([9, 12])]
  assert.deepEqual(enclosingInterval(intervals), given([0, 12]))
  assert.deepEqual(intervals, [given([5, 6]), given([0, 1]), given([9, 12])])
  assert.equal(enclosingInterval([]), undefined)
})
