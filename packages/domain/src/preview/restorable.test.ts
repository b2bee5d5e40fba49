import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { defaultRule, parseRules } from '../rules/index.ts'
import { finish } from '../steps/index.ts'
import { dayMs, formatInterval, type Interval } from '../time/index.ts'
import { keptByRules, Restorable, visibleAmong } from './restorable.ts'
import type { PreviewSegments } from './segments.ts'
import { testNow } from './test-preview.ts'

// Intervals of a version have the same length, and do not overlap partially.
const daysOfVersion = { v1: 1, v2: 3, v3: 2 } as const
type Version = keyof typeof daysOfVersion

interface Group {
  readonly version: Version
  readonly interval: Interval
  readonly sizesBytes: readonly number[]
}

const group = fc
  .record({
    version: fc.constantFrom<Version>('v1', 'v2', 'v3'),
    place: fc.integer({ min: -6, max: 2 }),
    sizesBytes: fc.array(fc.nat(100), { minLength: 1, maxLength: 3 }),
  })
  .map(({ version, place, sizesBytes }): Group => {
    const lengthMs = daysOfVersion[version] * dayMs
    const start = testNow + place * lengthMs
    return { version, interval: { start, end: start + lengthMs }, sizesBytes }
  })
const keyOf = ({ version, interval }: Group) => `${version} ${interval.start}`
const states = fc.constantFrom<'used' | 'dropRule' | 'request'>('used', 'dropRule', 'request')
const groups = fc.uniqueArray(fc.tuple(group, states), {
  selector: ([one]) => keyOf(one),
  maxLength: 10,
})
const rules = fc.array(
  fc.record({
    type: fc.constantFrom('loadByPeriod' as const, 'dropByPeriod' as const, 'dropBeforeByPeriod' as const),
    period: fc.constantFrom('P2D', 'P5D', 'P9D'),
  }),
  { maxLength: 3 },
)

interface PeriodRule {
  readonly type: 'loadByPeriod' | 'dropByPeriod' | 'dropBeforeByPeriod'
  readonly period: string
}

/** Whether a rule list drops an interval, from the definition of each rule. */
function isDropped({ start, end }: Interval, list: readonly PeriodRule[]): boolean {
  for (const { type, period } of list) {
    const since = testNow - Number(period.slice(1, -1)) * dayMs
    // Periods include the future by default. Drop rules apply to whole intervals, load rules also to parts.
    const applies = {
      loadByPeriod: end > since,
      dropByPeriod: start >= since,
      dropBeforeByPeriod: end <= since,
    }[type]
    if (applies) return type !== 'loadByPeriod'
  }
  return false
}

/** Whether groups with newer versions cover every day of a group. */
function isCovered({ version, interval }: Group, all: readonly Group[]): boolean {
  for (let day = interval.start; day < interval.end; day += dayMs) {
    const covers = (other: Group) =>
      other.version > version && other.interval.start <= day && other.interval.end > day
    if (!all.some(covers)) return false
  }
  return true
}

function extentOf(
  list: readonly { readonly interval: Interval; readonly segments: number; readonly bytes: number }[],
) {
  const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0)
  const start = Math.min(...list.map(({ interval }) => interval.start))
  const end = Math.max(...list.map(({ interval }) => interval.end))
  return {
    segments: sum(list.map(({ segments }) => segments)),
    bytes: sum(list.map(({ bytes }) => bytes)),
    interval: list.length === 0 ? null : formatInterval({ start, end }),
  }
}

const countedGroup = ({ interval, sizesBytes }: Group) => ({
  interval,
  segments: sizesBytes.length,
  bytes: sizesBytes.reduce((total, size) => total + size, 0),
})

function usedSegments(list: readonly Group[]): PreviewSegments {
  return {
    dataSource: 'wiki',
    count: list.length,
    start: (index) => list[index]!.interval.start,
    end: (index) => list[index]!.interval.end,
    sizeBytes: (index) => list[index]!.sizesBytes[0]!,
    version: (index) => list[index]!.version,
    partitionNum: () => 0,
    isOvershadowed: (index) => isCovered(list[index]!, list),
    forEachCopy: () => undefined,
  }
}

test('numbers of segments that can be marked as used are counts over unused segments', () => {
  fc.assert(
    fc.property(groups, groups, rules, fc.boolean(), (given, deleted, list, included) => {
      const inState = (state: string) => given.flatMap(([one, its]) => (its === state ? [one] : []))
      const [used, unused, asked] = ['used', 'dropRule', 'request'].map(inState) as [
        Group[],
        Group[],
        Group[],
      ]
      const killed = deleted.map(([one]) => {
        const { segments, bytes: sizeBytes } = countedGroup(one)
        return { interval: one.interval, segments, sizeBytes }
      })
      const then = { own: parseRules(list), defaults: [defaultRule], now: testNow }
      const restorable = new Restorable(included)
      const kept = finish(visibleAmong(keptByRules(unused, then), usedSegments(used)))
      restorable.add('wiki', kept, keptByRules(killed, then))

      const loadable = unused.filter(({ interval }) => !isDropped(interval, list))
      const visible = loadable.filter((one) => !isCovered(one, [...used, ...loadable]))
      const present = included ? [...used, ...visible] : used
      restorable.addRequested('wiki', finish(visibleAmong(keptByRules(asked, then), usedSegments(present))))

      const expected = extentOf(visible.map(countedGroup))
      const askedAndKept = asked.filter(({ interval }) => !isDropped(interval, list))
      const staying = extentOf(
        askedAndKept.filter((one) => !isCovered(one, [...present, ...askedAndKept])).map(countedGroup),
      )
      const lost = killed.filter(({ interval }) => !isDropped(interval, list))
      assert.deepEqual(restorable.format(), {
        included,
        ...expected,
        killed: extentOf(lost.map(({ sizeBytes, ...rest }) => ({ ...rest, bytes: sizeBytes }))),
        requested: staying,
      })
      const warned = restorable.warnings.map((warning) => {
        assert.ok(warning.type === 'unusedSegmentsStay' || warning.type === 'requestedSegmentsStay')
        const { type, segments, bytes, interval } = warning
        return { type, segments, bytes, interval }
      })
      assert.deepEqual(
        warned,
        [
          { type: 'unusedSegmentsStay', ...expected, segments: included ? 0 : expected.segments },
          { type: 'requestedSegmentsStay', ...staying },
        ].filter(({ segments }) => segments > 0),
      )
    }),
    { numRuns: 300 },
  )
})
