import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { Failure } from '../../failure/index.ts'
import { type Segment, segmentId } from '../../segment/index.ts'
import { bucketOf, eternity, type Interval } from '../../time/index.ts'
import { planRewrite } from './index.ts'

const at = (day: number) => Date.UTC(2026, 0, day)
const days = (first: number, end: number): Interval => ({ start: at(first), end: at(end) })
const month = days(1, 32)

function segment(interval: Interval, version = 'v1', partitionNum = 0, partitions = 1): Segment {
  const key = { dataSource: 'a', interval, version, partitionNum }
  return { ...key, id: segmentId(key), partitions, sizeBytes: 10, totalRows: 5 }
}

/**
 * Summarizes a plan: for each bucket, its first day, the segments to read with their visible days, and the number kept.
 */
const outline = ({ buckets }: ReturnType<typeof planRewrite<Segment>>) =>
  buckets.map(({ interval, rewritten, kept }) => ({
    from: new Date(interval.start).getUTCDate(),
    read: rewritten.map(
      (input) =>
        `${input.segment.version} ${input.visible.map(({ start, end }) => `${(start - at(0)) / 864e5}-${(end - at(0)) / 864e5}`).join()}`,
    ),
    kept: kept.length,
  }))

describe('planRewrite', () => {
  it('merges days into their month', () => {
    const plan = planRewrite([segment(days(1, 2)), segment(days(5, 6))], month, 'MONTH')
    assert.deepEqual(outline(plan), [{ from: 1, read: ['v1 1-2', 'v1 5-6'], kept: 0 }])
    assert.deepEqual(plan.buckets[0]?.interval, month)
  })

  it('splits a segment into all of its days, with or without rows', () => {
    const plan = planRewrite([segment(days(1, 4))], days(1, 4), 'DAY')
    assert.deepEqual(
      outline(plan).map(({ from, read }) => [from, ...read]),
      [
        [1, 'v1 1-2'],
        [2, 'v1 2-3'],
        [3, 'v1 3-4'],
      ],
    )
  })

  it('keeps existing intervals without a granularity', () => {
    const plan = planRewrite(
      [segment(days(1, 2)), segment(days(2, 4)), segment(days(3, 5), 'v2')],
      month,
      null,
    )
    assert.deepEqual(outline(plan), [
      { from: 1, read: ['v1 1-2'], kept: 0 },
      { from: 2, read: ['v1 2-3', 'v2 3-5'], kept: 0 },
    ])
  })

  it('reads only the visible parts of complete versions', () => {
    const plan = planRewrite(
      [segment(days(1, 10)), segment(days(3, 5), 'v2'), segment(days(6, 7), 'v3', 0, 2)],
      days(1, 10),
      null,
    )
    assert.deepEqual(outline(plan), [{ from: 1, read: ['v1 1-3,5-10', 'v2 3-5'], kept: 0 }])
    const wider = planRewrite([segment(days(1, 10)), segment(days(3, 5), 'v2')], month, 'MONTH')
    assert.deepEqual(outline(wider), [{ from: 1, read: ['v1 1-3,5-10', 'v2 3-5'], kept: 0 }])
  })

  it('reads only the part of a segment within the interval', () => {
    const aligned = planRewrite([segment(days(1, 10))], days(5, 12), 'WEEK')
    assert.deepEqual(outline(aligned), [{ from: 5, read: ['v1 5-10'], kept: 0 }])
  })

  it('keeps segments that already have the right interval', () => {
    const done = [segment(month, 'v1', 0, 0)]
    const fresh = segment(month, 'v1', 1, 0)
    const plan = planRewrite([...done, fresh], month, 'MONTH', new Set([fresh.id]))
    assert.deepEqual(outline(plan), [{ from: 1, read: ['v1 1-32'], kept: 1 }])
    assert.deepEqual(plan.buckets[0]?.kept, done)
    const untouched = planRewrite(done, month, 'MONTH', new Set([fresh.id]))
    assert.deepEqual(outline(untouched), [])
  })

  it('reads an entire bucket if its other segments cannot be kept', () => {
    const fresh = segment(days(1, 2))
    const plan = planRewrite([fresh, segment(days(2, 3))], month, 'MONTH', new Set([fresh.id]))
    assert.deepEqual(outline(plan), [{ from: 1, read: ['v1 1-2', 'v1 2-3'], kept: 0 }])
  })

  const refused: readonly [name: string, work: () => unknown, code: string][] = [
    [
      'part of the interval of a segment',
      () => planRewrite([segment(days(1, 5))], days(1, 3), null),
      'conflict',
    ],
    ['part of a month', () => planRewrite([segment(days(1, 5))], days(1, 10), 'MONTH'), 'conflict'],
    ['splitting eternity into days', () => planRewrite([segment(eternity)], eternity, 'DAY'), 'conflict'],
    [
      'splitting a year into seconds',
      () => planRewrite([segment(days(1, 365))], days(1, 365), 'SECOND'),
      'invalidInput',
    ],
  ]
  for (const [name, work, code] of refused) {
    it(`rejects ${name}`, () => assert.throws(work, (failure: Failure) => failure.code === code))
  }

  it('writes eternity as one interval', () => {
    assert.equal(
      planRewrite([segment(eternity), segment(days(1, 2), 'v2')], eternity, 'ALL').buckets.length,
      1,
    )
  })

  it('reads every visible time once and overshadows everything that it read', () => {
    const version = fc.constantFrom('v1', 'v2', 'v3')
    const any = fc.tuple(fc.integer({ min: 1, max: 27 }), fc.integer({ min: 1, max: 4 }), version)
    fc.assert(
      fc.property(
        fc.array(any, { maxLength: 12 }),
        fc.constantFrom('DAY', 'WEEK', 'MONTH', null),
        (given, granularity) => {
          const unique = new Map(
            given.map(([first, length, name]) => [
              `${first} ${length} ${name}`,
              segment(days(first, first + length), name),
            ]),
          )
          const segments = [...unique.values()]
          // Overlapping groups of one version do not occur in practice.
          const wide = days(-20, 60)
          const clash = segments.some((a) =>
            segments.some(
              (b) =>
                a !== b &&
                a.version === b.version &&
                a.interval.start < b.interval.end &&
                b.interval.start < a.interval.end,
            ),
          )
          if (clash) return
          const { buckets } = planRewrite(segments, wide, granularity)
          for (let day = 1; day < 32; day++) {
            const reading = buckets.flatMap(({ interval, rewritten }) =>
              rewritten.flatMap((input) =>
                input.visible.filter((part) => {
                  assert.ok(part.start >= interval.start && part.end <= interval.end)
                  return part.start <= at(day) && at(day) < part.end
                }),
              ),
            )
            const covered = segments.some(
              ({ interval }) => interval.start <= at(day) && at(day) < interval.end,
            )
            assert.equal(reading.length, covered ? 1 : 0)
            const hides = buckets.filter(
              ({ interval }) => interval.start <= at(day) && at(day) < interval.end,
            )
            assert.ok(hides.length <= 1 && (!covered || hides.length === 1))
            if (granularity !== null && hides[0])
              assert.deepEqual(hides[0].interval, bucketOf(granularity, at(day)))
          }
        },
      ),
    )
  })
})
