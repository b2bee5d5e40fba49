import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { compileRules, effectiveRules, matchRule, parseRules } from '../rules/index.ts'
import { finish } from '../steps/index.ts'
import { dayMs, formatInterval, type Interval, parseInstant, parseInterval } from '../time/index.ts'
import { Days } from './days.ts'
import {
  type AnsweredBuckets,
  decidePreview,
  formatSummary,
  groupGivenSegments,
  type PreviewRow,
  type PreviewWarning,
  rowsInPlaces,
  type TierMove,
  tierMovesOf,
} from './index.ts'
import type { PreviewServer } from './servers-by-tier.ts'
import { previewGiven, testNow } from './test-preview.ts'

const tierNames = ['hot', 'cold', 'gone']
const datasourceNames = ['wiki', 'flights']

interface TestSegment {
  readonly dataSource: string
  readonly interval: Interval
  readonly version: string
  readonly partitionNum: number
  readonly partitions: number
  readonly sizeBytes: number
  /** Indexes of the current servers that serve it. */
  readonly servedBy: readonly number[]
}

interface TestCase {
  readonly serversBefore: readonly PreviewServer[]
  readonly servers: readonly PreviewServer[]
  readonly segments: readonly TestSegment[]
  readonly rules: Readonly<Record<string, object[]>>
}

const servers = fc
  .array(
    fc.record({
      type: fc.constantFrom('historical' as const, 'historical' as const, 'broker' as const),
      tier: fc.constantFrom(...tierNames),
      maxSizeBytes: fc.constantFrom(Infinity, 0, 30, 60),
      decommissioning: fc.constantFrom(false, false, false, true),
    }),
    { maxLength: 6 },
  )
  .map((list) => list.map((server, index) => ({ ...server, name: `s${index}` })))

const interval = fc.oneof(
  fc.tuple(fc.integer({ min: -240, max: 48 }), fc.constantFrom(1, 5, 24, 30, 72)).map(([from, hours]) => ({
    start: testNow + from * 3_600_000,
    end: testNow + (from + hours) * 3_600_000,
  })),
  fc.integer({ min: -10, max: 2 }).map((day) => ({
    start: testNow + day * dayMs,
    end: testNow + (day + 1) * dayMs,
  })),
)
const boundedOrNot = fc.oneof(
  { weight: 30, arbitrary: interval },
  { weight: 1, arbitrary: fc.constant({ start: -Infinity, end: Infinity }) },
)

const replicants = fc.dictionary(fc.constantFrom('hot', 'cold', 'hott'), fc.nat(3), { maxKeys: 3 })
const rule = fc.oneof(
  replicants.map((tieredReplicants) => ({ type: 'loadForever', tieredReplicants })),
  fc
    .tuple(fc.constantFrom('P2D', 'P5D'), replicants)
    .map(([period, tieredReplicants]) => ({ type: 'loadByPeriod', period, tieredReplicants })),
  fc.constantFrom('P1D', 'P4D').map((period) => ({ type: 'dropBeforeByPeriod', period })),
  fc.record({ type: fc.constantFrom('dropForever', 'broadcastForever') }),
  fc.record({ type: fc.constant('broadcastByPeriod'), period: fc.constant('P3D') }),
)
const rules = fc.array(rule, { maxLength: 3 })

const testCase: fc.Arbitrary<TestCase> = fc
  .record({
    serversBefore: servers,
    changed: fc.option(servers),
    drafts: fc.array(
      fc.record({
        dataSource: fc.constantFrom(...datasourceNames),
        interval: boundedOrNot,
        version: fc.constantFrom('v1', 'v2'),
        sizeBytes: fc.integer({ min: 0, max: 25 }),
        servedBy: fc.uniqueArray(fc.nat(5)),
      }),
      { maxLength: 25 },
    ),
    rules: fc.record({ wiki: rules, flights: rules }),
  })
  .map(({ serversBefore, changed, drafts, rules: lists }) => ({
    serversBefore,
    servers: changed ?? serversBefore,
    rules: lists,
    segments: drafts.map((draft, partitionNum) => ({
      ...draft,
      partitionNum,
      partitions: 0,
      servedBy: draft.servedBy.filter((index) => index < serversBefore.length),
    })),
  }))

function previewOf({ serversBefore, servers: after, segments, rules: lists }: TestCase) {
  const groups = finish(groupGivenSegments(segments))
  const result = finish(
    decidePreview({
      now: testNow,
      datasources: groups.map(({ segments: own, places }) => ({
        segments: {
          ...own,
          forEachCopy: (index: number, visit: (server: number) => void) => {
            for (const server of segments[places[index]!]!.servedBy) visit(server)
          },
        },
        columns: undefined,
        own: parseRules(lists[own.dataSource]),
        defaults: [],
      })),
      servers: after,
      serversBefore,
      concerned: new Set(datasourceNames),
      knownDatasources: [],
      defaultsChange: false,
      horizon: undefined,
      buckets: 12,
    }),
  )
  const places = groups.map((group) => group.places)
  return {
    rows: finish(rowsInPlaces(result, places)),
    summary: formatSummary(result, true),
    warnings: result.warnings,
    moves: new Map(datasourceNames.map((name) => [name, finish(tierMovesOf(result.outcome, name))])),
  }
}

/** One segment with everything that the numbers of a summary depend on. */
interface Observed {
  readonly segment: TestSegment
  readonly row: PreviewRow
  readonly before: ReadonlyMap<string, number>
  readonly required: ReadonlyMap<string, number>
}

const staying = (list: readonly PreviewServer[], tier: string) =>
  list.filter((server) => server.type === 'historical' && server.tier === tier && !server.decommissioning)
const copiesIn = (list: readonly { count: number; size: number }[]) => ({
  segments: list.filter(({ count }) => count > 0).length,
  copies: list.reduce((sum, { count }) => sum + count, 0),
  bytes: list.reduce((sum, { count, size }) => sum + count * size, 0),
})

function observe(
  { serversBefore, servers: after, segments, rules: lists }: TestCase,
  rows: readonly PreviewRow[],
) {
  return segments.map((segment, index): Observed => {
    const row = rows[index]!
    const before = new Map<string, number>()
    for (const server of segment.servedBy) {
      const { type, tier } = serversBefore[server]!
      const holder = type === 'broker' ? 'brokers' : tier
      before.set(holder, (before.get(holder) ?? 0) + 1)
    }
    const compiled = compileRules(effectiveRules(parseRules(lists[segment.dataSource]), []), testNow)
    const { wanted } = compiled[matchRule(compiled, segment.interval)]!
    const required = new Map<string, number>()
    if (!row.overshadowed && wanted.action === 'load')
      for (const [tier, count] of wanted.tieredReplicants) required.set(tier, count)
    if (!row.overshadowed && wanted.action === 'broadcast')
      for (const tier of tierNames) required.set(tier, staying(after, tier).length)
    return { segment, row, before, required }
  })
}

/** Counts the affected copies of each segment, and their bytes, days, and interval, one segment after the other. */
function extentOf(list: readonly Observed[], copiesOf: (one: Observed) => number) {
  const affected = list.map((one) => ({ one, count: copiesOf(one) })).filter(({ count }) => count > 0)
  const days = new Set<number>()
  let isBounded = true
  for (const { one } of affected) {
    const { start, end } = one.segment.interval
    if (!Number.isFinite(start)) isBounded = false
    else for (let at = start; at < end; at += 3_600_000) days.add(Math.floor(at / dayMs))
  }
  const intervals = affected.map(({ one }) => one.segment.interval)
  return {
    ...copiesIn(affected.map(({ one, count }) => ({ count, size: one.segment.sizeBytes }))),
    days: isBounded ? days.size : null,
    interval:
      intervals.length === 0
        ? null
        : formatInterval({
            start: Math.min(...intervals.map(({ start }) => start)),
            end: Math.max(...intervals.map(({ end }) => end)),
          }),
  }
}

const sum = (numbers: Iterable<number>): number => [...numbers].reduce((total, one) => total + one, 0)

/** The effects on segments, each counted on its own. */
function countEffects(list: readonly Observed[], after: readonly PreviewServer[]) {
  const isServed = ({ row }: Observed) => sum(Object.values(row.loaded)) + row.brokers > 0
  const isVisible = ({ row }: Observed) => !row.overshadowed
  const change = (one: Observed, sign: 1 | -1) =>
    sum(
      tierNames.map((tier) =>
        Math.max(0, sign * ((one.row.loaded[tier] ?? 0) - (one.before.get(tier) ?? 0))),
      ),
    )
  const moved = (one: Observed) => Math.min(change(one, 1), change(one, -1))
  const missing = ({ row, required }: Observed, limitOf: (servers: number, count: number) => number) =>
    sum(
      [...required].map(([tier, count]) => {
        const limit = limitOf(staying(after, tier).length, count)
        return Math.max(0, limit - (row.loaded[tier] ?? 0))
      }),
    )
  const onSegments = (counts: (one: Observed) => boolean) => {
    const { copies: _, ...rest } = extentOf(list, (one) => (counts(one) ? 1 : 0))
    return rest
  }
  const waitingTiers = ({ required }: Observed) =>
    [...required].filter(([tier, count]) => count > 0 && staying(after, tier).length === 0)
  const isUnqueryable = (one: Observed) => isVisible(one) && !isServed(one)
  return {
    unqueryable: {
      ...onSegments(isUnqueryable),
      queryableBefore: list.filter((one) => isUnqueryable(one) && sum(one.before.values()) > 0).length,
    },
    unused: onSegments((one) => isVisible(one) && one.row.action === 'drop'),
    overshadowed: onSegments((one) => !isVisible(one)),
    underReplicated: extentOf(list, (one) => (isServed(one) ? missing(one, (_, count) => count) : 0)),
    doesNotFit: extentOf(list, (one) => missing(one, Math.min)),
    waitingForTier: {
      ...extentOf(list, (one) => sum(waitingTiers(one).map(([, count]) => count))),
      tiers: [...new Set(list.flatMap((one) => waitingTiers(one).map(([tier]) => tier)))].sort(),
    },
    moved: extentOf(list, moved),
    loaded: extentOf(list, (one) => change(one, 1) - moved(one)),
    dropped: extentOf(list, (one) => change(one, -1) - moved(one)),
  }
}

function countTierChange(list: readonly Observed[], tier: string) {
  const counted = (copiesOf: (before: number, after: number) => number) =>
    copiesIn(
      list.map(({ segment, row, before }) => ({
        count: Math.max(0, copiesOf(before.get(tier) ?? 0, row.loaded[tier] ?? 0)),
        size: segment.sizeBytes,
      })),
    )
  return {
    before: counted((before) => before),
    after: counted((_, after) => after),
    loaded: counted((before, after) => after - before),
    dropped: counted((before, after) => before - after),
  }
}

function countDatasource(list: readonly Observed[], { servers: after }: TestCase, tiers: readonly string[]) {
  const isUnused = ({ row }: Observed) => row.action === 'drop'
  const visible = list.filter(({ row }) => !row.overshadowed)
  const kept = list.filter((one) => !isUnused(one)).map(({ segment }) => segment.interval)
  const first = Math.min(...kept.map(({ start }) => start))
  const last = Math.max(...kept.map(({ end }) => end))
  const { segments, bytes } = extentOf(list, (one) => (isUnused(one) ? 1 : 0))
  return {
    used: { segments: visible.length, bytes: sum(visible.map(({ segment }) => segment.sizeBytes)) },
    effects: countEffects(list, after),
    tiers: Object.fromEntries(tiers.map((tier) => [tier, countTierChange(list, tier)])),
    markedUnused: { segments, bytes },
    oldestStart: kept.length === 0 ? undefined : first,
    newestEnd: kept.length === 0 ? undefined : last,
  }
}

/** Replicas that the servers of a tier should have and do not have space for. */
const misfitIn = (list: readonly Observed[], tier: string, servers: number) =>
  copiesIn(
    list.map(({ segment, row, required }) => ({
      count: Math.max(0, Math.min(servers, required.get(tier) ?? 0) - (row.loaded[tier] ?? 0)),
      size: segment.sizeBytes,
    })),
  )

function countTier(list: readonly Observed[], { servers: after }: TestCase, tier: string) {
  const change = countTierChange(list, tier)
  const own = staying(after, tier)
  const capacityBytes = sum(own.map(({ maxSizeBytes }) => maxSizeBytes))
  const doesNotFit = misfitIn(list, tier, own.length)
  return {
    servers: own.length,
    bytesBefore: change.before.bytes,
    bytesAfter: change.after.bytes,
    doesNotFit,
    capacityBytes: Number.isFinite(capacityBytes) ? capacityBytes : null,
    doesNotFitFrom: doesNotFit.copies > 0 ? '2026-06-15T00:00:00.000Z' : null,
  }
}

/** Checks the bytes of each bucket, to which a segment adds bytes in proportion to the overlap. */
function checkBuckets(
  buckets: AnsweredBuckets | undefined,
  list: readonly Observed[],
  tiers: readonly string[],
) {
  const visible = list.filter(({ row }) => !row.overshadowed)
  const instants = visible.flatMap(({ segment }) => [segment.interval.start, segment.interval.end])
  if (!instants.some(Number.isFinite)) {
    assert.equal(buckets, undefined)
    return
  }
  const { start, widthMs, count, tiers: ofTiers, unqueryable, unused } = buckets!
  const first = parseInstant(start)
  const end = first + count * widthMs
  assert.ok(count <= 12 && instants.every((at) => !Number.isFinite(at) || (at >= first && at <= end)))
  const expected = (bytesOf: (one: Observed) => number) =>
    Array.from({ length: count }, (_, index) =>
      sum(
        visible.map((one) => {
          const from = Math.max(first, one.segment.interval.start)
          const to = Math.min(end, one.segment.interval.end)
          const bucket = first + index * widthMs
          const overlap = Math.max(0, Math.min(to, bucket + widthMs) - Math.max(from, bucket))
          return (bytesOf(one) * overlap) / (to - from)
        }),
      ),
    )
  const check = (found: readonly number[] | undefined, bytesOf: (one: Observed) => number) => {
    for (const [index, bytes] of expected(bytesOf).entries())
      assert.ok(Math.abs((found?.[index] ?? 0) - bytes) <= 0.5 + 1e-6)
  }
  for (const tier of tiers) {
    check(ofTiers[tier]?.before, ({ segment, before }) => segment.sizeBytes * (before.get(tier) ?? 0))
    check(ofTiers[tier]?.after, ({ segment, row }) => segment.sizeBytes * (row.loaded[tier] ?? 0))
  }
  const isServed = ({ row }: Observed) => sum(Object.values(row.loaded)) + row.brokers > 0
  check(unqueryable, (one) => (isServed(one) ? 0 : one.segment.sizeBytes))
  check(unused, (one) => (one.row.action === 'drop' ? one.segment.sizeBytes : 0))
}

const hullOf = (list: readonly Interval[]): Interval => ({
  start: Math.min(...list.map(({ start }) => start)),
  end: Math.max(...list.map(({ end }) => end)),
})

/** Checks that moves between tiers are the loads and drops of these tiers, and the moved replicas. */
function checkMoves(moves: readonly TierMove[], list: readonly Observed[], tiers: readonly string[]) {
  const visible = list.filter(({ row }) => !row.overshadowed)
  const total = (counted: readonly TierMove[]) => ({
    copies: sum(counted.map(({ copies }) => copies)),
    bytes: sum(counted.map(({ bytes }) => bytes)),
  })
  const without = ({ copies, bytes }: { copies: number; bytes: number }) => ({ copies, bytes })
  for (const tier of tiers) {
    const { loaded, dropped } = countTierChange(visible, tier)
    assert.deepEqual(total(moves.filter(({ to }) => to === tier)), without(loaded))
    assert.deepEqual(total(moves.filter(({ from }) => from === tier)), without(dropped))
    const gaining = visible.filter(({ row, before }) => (row.loaded[tier] ?? 0) > (before.get(tier) ?? 0))
    assert.deepEqual(
      hullOf(moves.filter(({ to }) => to === tier).map((move) => move.interval)),
      hullOf(gaining.map(({ segment }) => segment.interval)),
    )
  }
  const between = moves.filter(({ from, to }) => from !== undefined && to !== undefined)
  assert.deepEqual(total(between), without(countEffects(visible, []).moved))
}

/** Checks the numbers of warnings about data that becomes unused, and about replicas without space. */
function checkWarnings(
  warnings: readonly PreviewWarning[],
  list: readonly Observed[],
  after: readonly PreviewServer[],
) {
  const visible = list.filter(({ row }) => !row.overshadowed)
  const checkOfRules = (
    affected: readonly Observed[],
    found: readonly Extract<PreviewWarning, { type: 'dataBecomesUnused' | 'noReplicasLoaded' }>[],
  ) => {
    const byRule = Map.groupBy(affected, ({ row }) => JSON.stringify([row.dataSource, row.rule]))
    assert.equal(found.length, byRule.size)
    for (const { dataSource, rule, segments, bytes, interval: from } of found) {
      const {
        copies: _,
        days: __,
        ...expected
      } = extentOf(byRule.get(JSON.stringify([dataSource, rule]))!, () => 1)
      assert.deepEqual({ segments, bytes, interval: from }, expected)
    }
  }
  checkOfRules(
    visible.filter(({ row }) => row.action === 'drop'),
    warnings.filter((warning) => warning.type === 'dataBecomesUnused'),
  )
  checkOfRules(
    visible.filter(({ row, required }) => row.action === 'load' && sum(required.values()) === 0),
    warnings.filter((warning) => warning.type === 'noReplicasLoaded'),
  )
  const misfits = warnings
    .filter((warning) => warning.type === 'doesNotFit')
    .map(({ tier, copies, bytes }) => [tier, { copies, bytes }])
  const expected = tierNames.flatMap((tier) => {
    const { segments: _, ...counted } = misfitIn(list, tier, staying(after, tier).length)
    return counted.copies === 0 ? [] : [[tier, counted]]
  })
  assert.deepEqual(Object.fromEntries(misfits), Object.fromEntries(expected))
}

test('every number of a summary is a count over segments', () => {
  fc.assert(
    fc.property(testCase, (given) => {
      const { rows, summary, warnings, moves } = previewOf(given)
      const observed = observe(given, rows)
      const tiers = [...given.serversBefore, ...given.servers]
        .filter(({ type }) => type === 'historical')
        .map(({ tier }) => tier)
      const names = [...new Set(tiers)].sort()
      const { effects, datasources, tiers: ofTiers, buckets } = summary
      assert.deepEqual(effects, countEffects(observed, given.servers))
      checkBuckets(buckets, observed, names)
      for (const [name, { oldestInterval, newestInterval, ...rest }] of Object.entries(datasources)) {
        const ofDatasource = observed.filter(({ segment }) => segment.dataSource === name)
        const found = {
          ...rest,
          oldestStart: oldestInterval === null ? undefined : parseInterval(oldestInterval, 'x').start,
          newestEnd: newestInterval === null ? undefined : parseInterval(newestInterval, 'x').end,
        }
        assert.deepEqual(found, countDatasource(ofDatasource, given, names))
        checkMoves(moves.get(name)!, ofDatasource, names)
      }
      assert.deepEqual(
        ofTiers,
        Object.fromEntries(names.map((tier) => [tier, countTier(observed, given, tier)])),
      )
      checkWarnings(warnings, observed, given.servers)
    }),
    { numRuns: 500 },
  )
})

describe('effects', () => {
  const load = (tieredReplicants: object) => ({
    type: 'loadForever',
    tieredReplicants,
    useDefaultTierForNull: false,
  })
  const segments = [{ interval: '2026-06-01/2026-06-02', size: 10 }]
  const hot = [{ name: 'a', type: 'historical', tier: 'hot' }]
  const effectsOf = (rules: object[]) =>
    previewGiven({ rules, segments, servers: hot }).summary.effects as Record<string, { segments: number }>
  const affectedBy = (rules: object[]) =>
    Object.entries(effectsOf(rules))
      .filter(([, { segments: count }]) => count > 0)
      .map(([name]) => name)

  const cases: [name: string, rules: object[], effects: string[]][] = [
    ['a rule with 0 replicas makes segments unqueryable', [load({})], ['unqueryable']],
    ['0 replicas in every tier make segments unqueryable', [load({ hot: 0 })], ['unqueryable']],
    ['a drop rule also marks them as unused', [{ type: 'dropForever' }], ['unqueryable', 'unused']],
    ['a mistyped tier makes segments unqueryable', [load({ hott: 1 })], ['unqueryable', 'waitingForTier']],
    [
      'a mistyped second tier leaves them under-replicated',
      [load({ hot: 1, cold: 1 })],
      ['underReplicated', 'waitingForTier', 'loaded'],
    ],
    ['so do more replicas than servers', [load({ hot: 2 })], ['underReplicated', 'loaded']],
  ]
  for (const [name, rules, effects] of cases) {
    test(name, () => assert.deepEqual(affectedBy(rules), effects))
  }
})

test('days are counted once, in any order of segments', () => {
  const range = fc
    .tuple(fc.integer({ min: -3000, max: 3000 }), fc.integer({ min: 1, max: 90 }))
    .map(([from, hours]) => ({ start: from * 3_600_000, end: (from + hours) * 3_600_000 }))
  fc.assert(
    fc.property(fc.array(range), fc.array(range), (own, others) => {
      const expected = new Set<number>()
      for (const { start, end } of [...own, ...others])
        for (let at = start; at < end; at += 3_600_000) expected.add(Math.floor(at / dayMs))
      const [days, other] = [new Days(), new Days()]
      for (const { start, end } of own) days.add(start, end)
      for (const { start, end } of others) other.add(start, end)
      days.addAll(other)
      assert.equal(days.count(), expected.size)
    }),
  )
  const many = new Days()
  for (let day = 50_000; day > 0; day -= 1) many.add(2 * day * dayMs, (2 * day + 1) * dayMs)
  assert.equal(many.count(), 50_000)
})
