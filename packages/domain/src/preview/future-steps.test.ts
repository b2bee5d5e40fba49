import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { compileRules, matchRule, parseRules } from '../rules/index.ts'
import { formatInterval, type Interval, parseInstant, parseInterval } from '../time/index.ts'
import { previewGiven, testNow } from './test-preview.ts'

const tierNames = ['hot', 'cold']

interface TestServer {
  readonly name: string
  readonly type: 'historical'
  readonly tier: string
  readonly maxSize?: number
}

interface TestSegment {
  readonly dataSource: string
  readonly interval: Interval
  readonly version: string
  readonly partitionNum: number
  readonly size: number
}

interface TestCase {
  readonly servers: readonly TestServer[]
  readonly segments: readonly TestSegment[]
  readonly rules: Readonly<Record<string, object[]>>
  readonly horizon: string
}

const servers = fc
  .array(fc.record({ tier: fc.constantFrom(...tierNames), maxSize: fc.constantFrom(undefined, 0, 20, 60) }), {
    maxLength: 4,
  })
  .map((list) =>
    list.map(
      ({ tier, maxSize }, index): TestServer => ({
        name: `s${index}`,
        type: 'historical',
        tier,
        ...(maxSize === undefined ? {} : { maxSize }),
      }),
    ),
  )

const hourMs = 3_600_000
const segments = fc
  .array(
    fc.record({
      dataSource: fc.constantFrom('wiki', 'flights'),
      from: fc.integer({ min: -240, max: 240 }),
      hours: fc.constantFrom(1, 24, 36),
      version: fc.constantFrom('v1', 'v2'),
      size: fc.nat(25),
    }),
    { maxLength: 20 },
  )
  .map((list) =>
    list.map(
      ({ from, hours, ...rest }, partitionNum): TestSegment => ({
        ...rest,
        partitionNum,
        interval: { start: testNow + from * hourMs, end: testNow + (from + hours) * hourMs },
      }),
    ),
  )

const tieredReplicants = fc.dictionary(fc.constantFrom('hot', 'cold', 'hott'), fc.nat(2), { maxKeys: 3 })
const periods = fc.constantFrom('P1D', 'P5D', 'P12D')
const rule = fc.oneof(
  fc.record({
    type: fc.constant('loadByPeriod'),
    period: periods,
    includeFuture: fc.boolean(),
    tieredReplicants,
  }),
  fc.record({ type: fc.constant('loadForever'), tieredReplicants }),
  fc.record({ type: fc.constant('dropBeforeByPeriod'), period: periods }),
  fc.record({ type: fc.constantFrom('dropForever', 'broadcastForever') }),
)
const rules = fc.array(rule, { minLength: 1, maxLength: 4 })

const testCase: fc.Arbitrary<TestCase> = fc.record({
  servers,
  segments,
  rules: fc.record({ wiki: rules, flights: rules }),
  horizon: fc.constantFrom('P3D', 'P20D', 'P60D'),
})

/** A visible segment, and the replicas that it has at the current time and at each step: undefined if it is unused. */
interface History {
  readonly segment: TestSegment
  readonly copies: readonly (ReadonlyMap<string, number> | undefined)[]
}

/** Follows each segment on its own. Once a drop rule has applied to it, it stays unused. */
function historiesOf({ servers: all, segments: given, rules: lists }: TestCase, moments: readonly number[]) {
  const { rows } = previewGiven({ segments: given.map(asJson), servers: all, rules: lists })
  return given.flatMap((segment, index): History[] => {
    if (rows[index]!.overshadowed) return []
    let isUnused = false
    const copies = moments.map((now) => {
      const compiled = compileRules(
        [...parseRules(lists[segment.dataSource]), ...parseRules([{ type: 'loadForever' }])],
        now,
      )
      const { wanted } = compiled[matchRule(compiled, segment.interval)]!
      isUnused ||= wanted.action === 'drop'
      if (isUnused || wanted.action === 'drop') return undefined
      const requires = (tier: string) =>
        wanted.action === 'broadcast' ? Infinity : (wanted.tieredReplicants.get(tier) ?? 0)
      const withSpace = (tier: string) => all.filter((one) => one.tier === tier && one.maxSize !== 0).length
      return new Map(tierNames.map((tier) => [tier, Math.min(requires(tier), withSpace(tier))]))
    })
    return [{ segment, copies }]
  })
}

const asJson = ({ interval, ...rest }: TestSegment) => ({
  ...rest,
  interval: formatInterval(interval),
  partitions: 0,
})

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0)

function tally(list: readonly History[], copiesOf: (one: History) => number) {
  const counted = list.map((one) => ({ count: Math.max(0, copiesOf(one)), size: one.segment.size }))
  return {
    segments: counted.filter(({ count }) => count > 0).length,
    copies: sum(counted.map(({ count }) => count)),
    bytes: sum(counted.map(({ count, size }) => count * size)),
  }
}

/** What happens to segments of a datasource between two steps. */
function countDatasource(list: readonly History[], step: number, tiers: readonly string[]) {
  const unused = list.filter(({ copies }) => copies[step - 1] !== undefined && copies[step] === undefined)
  const kept = list.filter(({ copies }) => copies[step] !== undefined).map(({ segment }) => segment.interval)
  return {
    tiers: Object.fromEntries(
      tiers.map((tier) => {
        const at = ({ copies }: History, index: number) => copies[index]?.get(tier) ?? 0
        return [
          tier,
          {
            before: tally(list, (one) => at(one, step - 1)),
            after: tally(list, (one) => at(one, step)),
            loaded: tally(list, (one) => at(one, step) - at(one, step - 1)),
            dropped: tally(list, (one) => at(one, step - 1) - at(one, step)),
          },
        ]
      }),
    ),
    markedUnused: { segments: unused.length, bytes: sum(unused.map(({ segment }) => segment.size)) },
    oldestStart: kept.length === 0 ? undefined : Math.min(...kept.map(({ start }) => start)),
    newestEnd: kept.length === 0 ? undefined : Math.max(...kept.map(({ end }) => end)),
  }
}

function countTier(list: readonly History[], step: number, tier: string, all: readonly TestServer[]) {
  const own = all.filter((server) => server.tier === tier)
  const capacityBytes = sum(own.map(({ maxSize = Infinity }) => maxSize))
  const before = tally(list, ({ copies }) => copies[step - 1]?.get(tier) ?? 0)
  const after = tally(list, ({ copies }) => copies[step]?.get(tier) ?? 0)
  const beyond = Math.max(0, after.bytes - capacityBytes)
  const part = (count: number) => (beyond === 0 ? 0 : Math.ceil((count * beyond) / after.bytes))
  return {
    servers: own.length,
    bytesBefore: before.bytes,
    bytesAfter: after.bytes - beyond,
    doesNotFit: { segments: part(after.segments), copies: part(after.copies), bytes: beyond },
    capacityBytes: Number.isFinite(capacityBytes) ? capacityBytes : null,
  }
}

interface Summary {
  readonly tiers: Readonly<
    Record<
      string,
      { readonly doesNotFit: { readonly copies: number }; readonly doesNotFitFrom: string | null }
    >
  >
  readonly steps: readonly {
    readonly now: string
    readonly datasources: Readonly<
      Record<string, { readonly oldestInterval: string | null; readonly newestInterval: string | null }>
    >
    readonly tiers: Readonly<Record<string, { readonly doesNotFit: { readonly copies: number } }>>
  }[]
}

test('every number of a step of a horizon is a count over segments', () => {
  fc.assert(
    fc.property(testCase, (given) => {
      const { servers: all, rules: lists, horizon } = given
      const summary = previewGiven({
        segments: given.segments.map(asJson),
        servers: all,
        rules: lists,
        horizon,
      }).summary as unknown as Summary
      const moments = [testNow, ...summary.steps.map(({ now }) => parseInstant(now))]
      const histories = historiesOf(given, moments)
      const tiers = [...new Set(all.map(({ tier }) => tier))].sort()
      for (const [index, step] of summary.steps.entries()) {
        for (const [name, { oldestInterval, newestInterval, ...rest }] of Object.entries(step.datasources)) {
          const own = histories.filter(({ segment }) => segment.dataSource === name)
          const found = {
            ...rest,
            oldestStart: oldestInterval === null ? undefined : parseInterval(oldestInterval, 'x').start,
            newestEnd: newestInterval === null ? undefined : parseInterval(newestInterval, 'x').end,
          }
          assert.deepEqual(found, countDatasource(own, index + 1, tiers))
        }
        assert.deepEqual(
          step.tiers,
          Object.fromEntries(tiers.map((tier) => [tier, countTier(histories, index + 1, tier, all)])),
        )
      }
      for (const tier of tiers) {
        const misfits = [summary, ...summary.steps].map((moment) => moment.tiers[tier]!.doesNotFit.copies > 0)
        const first = moments[misfits.indexOf(true)]
        const { doesNotFitFrom } = summary.tiers[tier]!
        assert.equal(doesNotFitFrom === null ? undefined : parseInstant(doesNotFitFrom), first)
      }
    }),
    { numRuns: 100 },
  )
})
