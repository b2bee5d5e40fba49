import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { analyzeTimeline, type TimelineSegment } from './index.ts'

const segment = (
  start: number,
  end: number,
  version: string,
  partitionNum = 0,
  partitions = 1,
): TimelineSegment => ({
  interval: { start, end },
  version,
  partitionNum,
  partitions,
})

const cases: readonly {
  name: string
  given: TimelineSegment[]
  overshadowed: boolean[]
  visible: string[]
}[] = [
  { name: 'nothing', given: [], overshadowed: [], visible: [] },
  {
    name: 'a newer version of the same interval overshadows the older one',
    given: [segment(0, 10, 'a'), segment(0, 10, 'b')],
    overshadowed: [true, false],
    visible: ['0-10 b 1'],
  },
  {
    name: 'a newer version in the middle splits the older one',
    given: [segment(0, 10, 'a'), segment(3, 5, 'b')],
    overshadowed: [false, false],
    visible: ['0-3 a 1', '3-5 b 1', '5-10 a 1'],
  },
  {
    name: 'groups of different versions overshadow a group together',
    given: [segment(0, 10, 'a'), segment(0, 4, 'c'), segment(4, 10, 'b')],
    overshadowed: [true, false, false],
    visible: ['0-4 c 1', '4-10 b 1'],
  },
  {
    name: 'an incomplete group overshadows nothing and is not visible',
    given: [segment(0, 10, 'a'), segment(0, 10, 'b', 1, 2)],
    overshadowed: [false, false],
    visible: ['0-10 a 1'],
  },
  {
    name: 'an incomplete group can be overshadowed',
    given: [segment(0, 10, 'b'), segment(0, 10, 'a', 1, 2)],
    overshadowed: [false, true],
    visible: ['0-10 b 1'],
  },
  {
    name: 'appended segments are part of their group',
    given: [segment(0, 10, 'a', 0, 2), segment(0, 10, 'a', 1, 2), segment(0, 10, 'a', 2, 2)],
    overshadowed: [false, false, false],
    visible: ['0-10 a 3'],
  },
  {
    name: 'a group with only appended segments is complete',
    given: [segment(0, 10, 'a', 4, 0), segment(0, 10, 'a', 7, 0)],
    overshadowed: [false, false],
    visible: ['0-10 a 2'],
  },
  {
    name: 'a duplicate partition does not replace a missing one',
    given: [segment(0, 10, 'a', 0, 2), segment(0, 10, 'a', 0, 2)],
    overshadowed: [false, false],
    visible: [],
  },
  {
    name: 'eternity overshadows, and is visible around newer segments',
    given: [segment(-Infinity, Infinity, 'b'), segment(0, 10, 'a'), segment(20, 30, 'c')],
    overshadowed: [false, true, false],
    visible: ['-Infinity-20 b 1', '20-30 c 1', '30-Infinity b 1'],
  },
  {
    name: 'an empty interval neither overshadows nor is overshadowed',
    given: [segment(5, 5, 'a'), segment(0, 10, 'b')],
    overshadowed: [false, false],
    visible: ['0-10 b 1'],
  },
]

for (const { name, given, overshadowed, visible } of cases) {
  test(name, () => {
    const timeline = analyzeTimeline(given)
    assert.deepEqual(timeline.overshadowed, overshadowed)
    assert.deepEqual(
      timeline.visible.map(
        ({ interval, version, chunks }) => `${interval.start}-${interval.end} ${version} ${chunks}`,
      ),
      visible,
    )
  })
}

const lastInstant = 12

/** Finds the visible version of each instant by checking every segment. */
function bySearch(segments: readonly TimelineSegment[]) {
  const groupOf = (of: TimelineSegment) =>
    segments.filter(
      ({ interval, version }) =>
        version === of.version && interval.start === of.interval.start && interval.end === of.interval.end,
    )
  const isComplete = (of: TimelineSegment) =>
    Array.from({ length: of.partitions }).every((_, wanted) =>
      groupOf(of).some(({ partitionNum }) => partitionNum === wanted),
    )
  const covers = (of: TimelineSegment, instant: number) =>
    of.interval.start <= instant && instant < of.interval.end
  const instants = [...Array(lastInstant).keys()]
  const overshadowed = segments.map((hidden) =>
    instants
      .filter((instant) => covers(hidden, instant))
      .every((instant) =>
        segments.some(
          (other) => other.version > hidden.version && isComplete(other) && covers(other, instant),
        ),
      ),
  )
  const shown = instants.map((instant) =>
    segments
      .filter((one) => covers(one, instant) && isComplete(one))
      .map(({ version }) => version)
      .sort()
      .at(-1),
  )
  return { overshadowed, shown }
}

test('the timeline agrees with a search at each instant', () => {
  const segments = fc
    .array(
      fc.record({
        start: fc.nat(lastInstant - 1),
        length: fc.integer({ min: 1, max: 6 }),
        version: fc.constantFrom('a', 'b', 'c', 'd'),
        partitionNum: fc.nat(2),
      }),
      { maxLength: 12 },
    )
    .map((given) =>
      given.map(({ start, length, version, partitionNum }) =>
        // The segments of a group have the same core set size, so derive it from the version.
        segment(
          start,
          Math.min(start + length, lastInstant),
          version,
          partitionNum,
          version.charCodeAt(0) % 3,
        ),
      ),
    )
  fc.assert(
    fc.property(segments, (given) => {
      const { overshadowed, visible } = analyzeTimeline(given)
      const expected = bySearch(given)
      assert.deepEqual(overshadowed, expected.overshadowed)
      const shown = [...Array(lastInstant).keys()].map(
        (instant) =>
          visible.find(({ interval }) => interval.start <= instant && instant < interval.end)?.version,
      )
      assert.deepEqual(shown, expected.shown)
    }),
    { numRuns: 2000 },
  )
})

test('100,000 segments of one datasource do not take quadratic time', () => {
  const many = Array.from({ length: 100_000 }, (_, index) =>
    index % 2 === 0
      ? segment(-Infinity, Infinity, `${index}`.padStart(6, '0'))
      : segment(index % 1000, (index % 1000) + 1 + (index % 7), `${index}`.padStart(6, '0')),
  )
  const { overshadowed, visible } = analyzeTimeline(many)
  // Only the last two are not covered.
  assert.equal(overshadowed.filter((hidden) => !hidden).length, 2)
  assert.equal(visible.length, 3)
})
