import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { type Segment, segmentId } from '../segment/index.ts'
import { type Interval, joinIntervals } from '../time/index.ts'
import { pruneAnswer, type TimeCondition, timesOf } from './index.ts'

const from = (value: number): TimeCondition => ({ kind: 'atLeast', value })
const to = (value: number): TimeCondition => ({ kind: 'atMost', value })
const and = (...parts: TimeCondition[]): TimeCondition => ({ kind: 'and', parts })
const or = (...parts: TimeCondition[]): TimeCondition => ({ kind: 'or', parts })

/** Whether a row with this time satisfies a condition. */
function satisfies(time: number, condition: TimeCondition): boolean {
  switch (condition.kind) {
    case 'atLeast':
      return time >= condition.value
    case 'atMost':
      return time <= condition.value
    case 'and':
      return condition.parts.every((part) => satisfies(time, part))
    case 'or':
      return condition.parts.some((part) => satisfies(time, part))
  }
}

const { condition } = fc.letrec<{ condition: TimeCondition }>((tie) => ({
  condition: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.record({ kind: fc.constantFrom('atLeast', 'atMost'), value: fc.integer({ min: 0, max: 50 }) }),
    fc.record({ kind: fc.constantFrom('and', 'or'), parts: fc.array(tie('condition'), { maxLength: 3 }) }),
  ) as fc.Arbitrary<TimeCondition>,
}))

describe('timesOf', () => {
  const cases: readonly [
    name: string,
    condition: TimeCondition,
    times: readonly (readonly [number, number])[],
  ][] = [
    ['returns a range', and(from(3), to(5)), [[3, 6]]],
    ['returns nothing for a condition that is never true', and(from(6), to(5)), []],
    [
      'returns two separate ranges',
      or(and(from(1), to(2)), and(from(7), to(8))),
      [
        [1, 3],
        [7, 9],
      ],
    ],
    ['joins ranges that touch', or(and(from(1), to(2)), and(from(3), to(8))), [[1, 9]]],
    [
      'intersects ranges with a range',
      and(to(7), or(and(from(1), to(2)), from(6))),
      [
        [1, 3],
        [6, 8],
      ],
    ],
    ['returns nothing for an empty [or]', or(), []],
    ['returns all times for an empty [and]', and(), [[-Infinity, Infinity]]],
  ]
  for (const [name, given, times] of cases) {
    it(name, () => {
      assert.deepEqual(
        timesOf(given),
        times.map(([start, end]) => ({ start, end })),
      )
    })
  }

  it('returns exactly the times that satisfy the condition, sorted and disjoint', () => {
    fc.assert(
      fc.property(condition, (given) => {
        const times = timesOf(given)
        for (let time = -1; time <= 52; time++) {
          const isIn = times.some(({ start, end }) => time >= start && time < end)
          assert.equal(isIn, satisfies(time, given), `at ${time}`)
        }
        assert.deepEqual(times, joinIntervals(times))
      }),
    )
  })
})

describe('pruneAnswer', () => {
  const segment = (interval: Interval): Segment => {
    const key = { dataSource: 'a', interval, version: 'v1', partitionNum: 0 }
    return { ...key, id: segmentId(key), partitions: 1, sizeBytes: 1, totalRows: 1 }
  }
  const interval = fc
    .tuple(fc.integer({ min: 0, max: 40 }), fc.integer({ min: 1, max: 10 }))
    .map(([start, length]) => ({
      start,
      end: start + length,
    }))

  it('keeps exactly the segments that can have rows in the times', () => {
    fc.assert(
      fc.property(fc.array(interval), fc.array(interval), condition, (present, absent, given) => {
        const plan = {
          answering: present.map((one) => ({ segment: segment(one), within: undefined })),
          missing: absent.map(segment),
          notLoaded: 2,
        }
        const wanted = ({ start, end }: Interval): boolean =>
          Array.from({ length: end - start }, (_, index) => start + index).some((time) =>
            satisfies(time, given),
          )
        const pruned = pruneAnswer(plan, timesOf(given))
        assert.deepEqual(
          pruned.answering,
          plan.answering.filter((one) => wanted(one.segment.interval)),
        )
        assert.deepEqual(
          pruned.missing,
          plan.missing.filter((one) => wanted(one.interval)),
        )
        assert.equal(pruned.notLoaded, 2)
      }),
    )
  })

  it('considers only the visible part of a segment', () => {
    const plan = {
      answering: [
        {
          segment: segment({ start: 0, end: 10 }),
          within: [
            { start: 0, end: 2 },
            { start: 8, end: 10 },
          ],
        },
      ],
      missing: [],
      notLoaded: 0,
    }
    assert.equal(pruneAnswer(plan, [{ start: 3, end: 7 }]).answering.length, 0)
    assert.equal(pruneAnswer(plan, [{ start: 9, end: 12 }]).answering.length, 1)
  })
})
