// A preview must predict what the planner does. These tests compare the rows of a preview, and the steps of a horizon, with
// the state that runs of the planner reach, on servers with enough space and on servers of different sizes that may be full.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { LoadingServer } from '../loading/index.ts'
import { compileRules, effectiveRules, matchRule, parseRules, type RulesByName } from '../rules/index.ts'
import { finish } from '../steps/index.ts'
import { dayMs, formatInstant, formatInterval, parseInstant, parseInterval, periodOf } from '../time/index.ts'
import {
  type AnsweredDatasource,
  type AnsweredLaterLoss,
  type AnsweredSummary,
  type CopyTally,
  formatSummary,
  type LossName,
  type PreviewResult,
  pageOfRows,
} from './index.ts'
import {
  decide,
  type Fate,
  namesOf,
  type PlacedSegment,
  type RuleLists,
  rulesOf,
  runPlanner,
  tableOf,
  testDatasources,
  withRoom,
} from './test-planner.ts'
import { testNow } from './test-preview.ts'

const period = fc.constantFrom('P2D', 'P5D', 'P1M')
const interval = fc
  .tuple(fc.integer({ min: -40, max: 3 }), fc.integer({ min: 1, max: 20 }))
  .map(([from, days]) =>
    formatInterval({ start: testNow + from * dayMs, end: testNow + (from + days) * dayMs }),
  )
const tieredReplicants = fc.dictionary(fc.constantFrom('cold', 'hot', 'icy'), fc.nat(3))
const scope = fc.oneof(
  fc.constant({ kind: 'Forever' }),
  fc.record({ kind: fc.constant('ByPeriod'), period, includeFuture: fc.boolean() }),
  fc.record({ kind: fc.constant('ByInterval'), interval }),
)
const anyRule = fc.oneof(
  fc.tuple(scope, tieredReplicants).map(([{ kind, ...fields }, replicants]) => ({
    type: `load${kind}`,
    ...fields,
    tieredReplicants: replicants,
  })),
  scope.map(({ kind, ...fields }) => ({ type: `drop${kind}`, ...fields })),
  scope.map(({ kind, ...fields }) => ({ type: `broadcast${kind}`, ...fields })),
  period.map((one) => ({ type: 'dropBeforeByPeriod', period: one })),
)
const anyRules = fc.array(anyRule, { maxLength: 3 }).map((rules) => parseRules(rules))

/** Rules of the datasources, and default rules. */
const anyRuleLists = fc.tuple(anyRules, anyRules, anyRules)

const anySegments = fc.uniqueArray(
  fc.record<PlacedSegment>({
    dataSource: fc.constantFrom(...testDatasources),
    day: fc.integer({ min: -40, max: 3 }),
    version: fc.constantFrom('v1', 'v2'),
    partitionNum: fc.nat(1),
    partitions: fc.constantFrom(0, 1, 2),
    sizeBytes: fc.constant(1),
    servedBy: fc.uniqueArray(fc.nat(6), { maxLength: 4 }),
  }),
  {
    maxLength: 12,
    selector: ({ dataSource, day, version, partitionNum }) => [dataSource, day, version, partitionNum].join(),
  },
)

/** Segments that do not overshadow each other, of different sizes. */
const anySizes = fc.uniqueArray(
  fc.record<PlacedSegment>({
    dataSource: fc.constantFrom(...testDatasources),
    day: fc.integer({ min: -40, max: 3 }),
    version: fc.constant('v1'),
    partitionNum: fc.nat(3),
    partitions: fc.constant(0),
    sizeBytes: fc.constantFrom(1, 1, 2, 5),
    servedBy: fc.uniqueArray(fc.nat(4), { maxLength: 3 }),
  }),
  { maxLength: 20, selector: ({ dataSource, day, partitionNum }) => [dataSource, day, partitionNum].join() },
)

const anyServers = fc
  .array(
    fc.record({
      type: fc.constantFrom('historical' as const, 'historical' as const, 'broker' as const),
      tier: fc.constantFrom('cold', 'hot'),
      decommissioning: fc.boolean(),
    }),
    { minLength: 1, maxLength: 7 },
  )
  .map((servers) =>
    servers.map(({ type, tier, decommissioning }, number): LoadingServer => {
      const before = servers.slice(0, number)
      return {
        number,
        name: `server${number}`,
        type,
        tier,
        maxSizeBytes: 1000,
        usedSizeBytes: 0,
        loadingSizeBytes: 0,
        queuedLoads: 0,
        // A tier keeps its replicas while all of its servers are being emptied, so the first one stays.
        decommissioning:
          decommissioning &&
          type === 'historical' &&
          before.some((one) => one.type === type && one.tier === tier),
      }
    }),
  )

/** Servers of different sizes, without brokers. */
const anyFullServers = fc
  .array(
    fc.record({ tier: fc.constantFrom('cold', 'hot'), maxSizeBytes: fc.constantFrom(0, 3, 8, 13, 30) }),
    { minLength: 1, maxLength: 5 },
  )
  .map((servers) =>
    servers.map(
      (server, number): LoadingServer => ({
        number,
        name: `server${number}`,
        type: 'historical',
        usedSizeBytes: 0,
        loadingSizeBytes: 0,
        queuedLoads: 0,
        decommissioning: false,
        ...server,
      }),
    ),
  )

/** Returns what a preview says about each segment. */
function fatesIn(result: PreviewResult): Map<string, Fate> {
  const { rows } = finish(pageOfRows(result, { offset: 0, limit: Infinity }))
  return new Map(
    rows.map(
      ({ dataSource, interval: text, version, partitionNum, action, loaded, brokers }): [string, Fate] => [
        [dataSource, text, version, partitionNum].join(' '),
        { isUsed: action !== 'drop', loaded, brokers },
      ],
    ),
  )
}

/** Checks that a preview of these rules predicts the state that the planner reaches. */
function checkPreview(
  segments: readonly PlacedSegment[],
  servers: readonly LoadingServer[],
  lists: RuleLists,
): void {
  const rules = rulesOf(lists)
  const table = tableOf(segments, servers)
  const predicted = fatesIn(decide(table, rules, servers))
  const reached = runPlanner(table, namesOf(table), { now: testNow, rules, servers })
  assert.deepEqual(new Map([...predicted].sort()), new Map([...reached].sort()))
}

test('a preview predicts what the planner does until nothing changes', () => {
  fc.assert(fc.property(anySegments, anyServers, anyRuleLists, checkPreview), { numRuns: 500 })
})

test('a preview predicts what the planner does in tiers without enough space', () => {
  fc.assert(
    fc.property(anySizes, anyFullServers, anyRuleLists, (segments, servers, lists) =>
      checkPreview(withRoom(segments, servers), servers, lists),
    ),
    { numRuns: 1000 },
  )
})

test('a preview spreads replicas on full servers like Druid, which uses the space of a drop for the next older segments', () => {
  const server = (number: number, tier: string, maxSizeBytes: number): LoadingServer => ({
    ...{ number, name: `server${number}`, type: 'historical', tier, maxSizeBytes, decommissioning: false },
    ...{ usedSizeBytes: 0, loadingSizeBytes: 0, queuedLoads: 0 },
  })
  const servers = [server(0, 'hot', 3), server(1, 'hot', 3), server(2, 'cold', 30)]
  const segment = (dataSource: string, day: number, servedBy: readonly number[]): PlacedSegment => ({
    ...{ dataSource, day, servedBy, version: 'v1', partitionNum: 0, partitions: 1, sizeBytes: 1 },
  })
  const segments = [
    segment('koalas', -3, [0, 2]),
    segment('koalas', -4, [1, 2]),
    ...[-1, -2, -3, -4, -5, -6].map((day) => segment('wiki', day, [2])),
  ]
  const rules = (tieredReplicants: object) => parseRules([{ type: 'loadForever', tieredReplicants }])
  const lists: RuleLists = [rules({ cold: 1 }), rules({ hot: 2, cold: 1 }), []]
  checkPreview(segments, servers, lists)
  const fates = [...fatesIn(decide(tableOf(segments, servers), rulesOf(lists), servers))]
  const ofWiki = fates.filter(([name]) => name.startsWith('wiki')).sort(([a], [b]) => (a < b ? 1 : -1))
  assert.deepEqual(
    ofWiki.map(([, { loaded }]) => loaded.hot ?? 0),
    [2, 2, 0, 1, 1, 0],
  )
})

test('a preview that assumes space is that of servers without limits, and says so only if they may run out of it', () => {
  let assumed = 0
  fc.assert(
    fc.property(anySizes, anyFullServers, anyRuleLists, (segments, anySized, lists) => {
      const servers = anySized.map((one) => ({ ...one, maxSizeBytes: Math.max(1, one.maxSizeBytes) }))
      const placed = withRoom(segments, servers)
      const [table, rules] = [tableOf(placed, servers), rulesOf(lists)]
      const quick = decide(table, rules, servers, { assumesSpace: true })
      const unlimited = servers.map((server) => ({ ...server, maxSizeBytes: Infinity }))
      assert.deepEqual(fatesIn(quick), fatesIn(decide(tableOf(placed, unlimited), rules, unlimited)))
      const exact = decide(table, rules, servers)
      assert.equal(exact.outcome.assumesSpace, false)
      if (quick.outcome.assumesSpace) assumed += 1
      else assert.deepEqual(fatesIn(quick), fatesIn(exact))
    }),
    { numRuns: 200 },
  )
  assert.ok(assumed > 20, String(assumed))
})

/** A segment at a step. */
interface Moment {
  readonly segment: PlacedSegment
  readonly fate: Fate
  /** Replicas that the rule requires, by tier; none if the segment is unused. */
  readonly required: ReadonlyMap<string, number>
}

const intervalOf = ({ day }: PlacedSegment) => ({
  start: testNow + day * dayMs,
  end: testNow + (day + 1) * dayMs,
})
const sum = (numbers: Iterable<number>): number => [...numbers].reduce((total, one) => total + one, 0)
const staying = (servers: readonly LoadingServer[], tier: string): readonly LoadingServer[] =>
  servers.filter((one) => one.type === 'historical' && one.tier === tier && !one.decommissioning)

function requiredOf(
  segment: PlacedSegment,
  rules: RulesByName,
  servers: readonly LoadingServer[],
  now: number,
): ReadonlyMap<string, number> {
  const compiled = compileRules(
    effectiveRules(rules.get(segment.dataSource) ?? [], rules.get('_default') ?? []),
    now,
  )
  const { wanted } = compiled[matchRule(compiled, intervalOf(segment))]!
  if (wanted.action === 'load') return wanted.tieredReplicants
  if (wanted.action === 'drop') return new Map()
  return new Map(['cold', 'hot'].map((tier) => [tier, staying(servers, tier).length]))
}

/** Returns the state of segments after runs of the planner. */
function momentsOf(
  segments: readonly PlacedSegment[],
  fates: ReadonlyMap<string, Fate>,
  { now, rules, servers }: { now: number; rules: RulesByName; servers: readonly LoadingServer[] },
): Moment[] {
  return segments.map((segment) => {
    const { dataSource, version, partitionNum } = segment
    const fate = fates.get(
      [dataSource, formatInterval(intervalOf(segment)), version, partitionNum].join(' '),
    )!
    const required = fate.isUsed ? requiredOf(segment, rules, servers, now) : new Map<string, number>()
    return { segment, fate, required }
  })
}

function tally(list: readonly { readonly count: number; readonly bytes: number }[]) {
  const counted = list.filter(({ count }) => count > 0)
  return {
    segments: counted.length,
    copies: sum(counted.map(({ count }) => count)),
    bytes: sum(counted.map(({ count, bytes }) => count * bytes)),
  }
}

/** Counts copies of each segment at a step and at the step before. */
const tallyOf = (
  [before, after]: readonly [readonly Moment[], readonly Moment[]],
  countOf: (before: Moment, after: Moment) => number,
) => tally(after.map((one, at) => ({ count: countOf(before[at]!, one), bytes: one.segment.sizeBytes })))

const copiesIn = (tier: string, { fate }: Moment): number => fate.loaded[tier] ?? 0
const isServed = ({ fate }: Moment): boolean => sum(Object.values(fate.loaded)) + fate.brokers > 0

/** Replicas that are due in tiers with servers and do not fit. */
const misfit = (servers: readonly LoadingServer[], tier: string, moment: Moment): number =>
  Math.max(
    0,
    Math.min(moment.required.get(tier) ?? 0, staying(servers, tier).length) - copiesIn(tier, moment),
  )

function lossOf(name: LossName, servers: readonly LoadingServer[], one: Moment): number {
  const missing = [...one.required].map(([tier, count]) => Math.max(0, count - copiesIn(tier, one)))
  const waiting = [...one.required].filter(([tier]) => staying(servers, tier).length === 0)
  const counts: Readonly<Record<LossName, number>> = {
    unqueryable: isServed(one) ? 0 : 1,
    unused: one.fate.isUsed ? 0 : 1,
    underReplicated: isServed(one) ? sum(missing) : 0,
    doesNotFit: sum(['cold', 'hot'].map((tier) => misfit(servers, tier, one))),
    waitingForTier: sum(waiting.map(([, count]) => count)),
  }
  return counts[name]
}

function checkDatasource(
  { oldestInterval, newestInterval, ...found }: AnsweredDatasource,
  [before, after]: readonly [readonly Moment[], readonly Moment[]],
  tiers: readonly string[],
): void {
  const isNowUnused = (old: Moment, one: Moment) => old.fate.isUsed && !one.fate.isUsed
  const { segments, bytes } = tallyOf([before, after], (old, one) => (isNowUnused(old, one) ? 1 : 0))
  const kept = after.filter(({ fate }) => fate.isUsed).map(({ segment }) => intervalOf(segment))
  const numbers = (tier: string, countOf: (old: number, next: number) => number) =>
    tallyOf([before, after], (old, one) => countOf(copiesIn(tier, old), copiesIn(tier, one)))
  assert.deepEqual(
    {
      ...found,
      oldestStart: oldestInterval === null ? Infinity : parseInterval(oldestInterval, 'x').start,
      newestEnd: newestInterval === null ? -Infinity : parseInterval(newestInterval, 'x').end,
    },
    {
      tiers: Object.fromEntries(
        tiers.map((tier) => [
          tier,
          {
            before: numbers(tier, (old) => old),
            after: numbers(tier, (_, next) => next),
            loaded: numbers(tier, (old, next) => next - old),
            dropped: numbers(tier, (old, next) => old - next),
          },
        ]),
      ),
      markedUnused: { segments, bytes },
      oldestStart: Math.min(...kept.map(({ start }) => start)),
      newestEnd: Math.max(...kept.map(({ end }) => end)),
    },
  )
}

function checkTiers(
  found: NonNullable<AnsweredSummary['steps']>[number]['tiers'],
  [before, after]: readonly [readonly Moment[], readonly Moment[]],
  servers: readonly LoadingServer[],
): void {
  for (const [tier, { capacityBytes: _, servers: count, ...numbers }] of Object.entries(found ?? {})) {
    assert.equal(count, staying(servers, tier).length)
    assert.deepEqual(numbers, {
      bytesBefore: tallyOf([before, after], (old) => copiesIn(tier, old)).bytes,
      bytesAfter: tallyOf([before, after], (_old, one) => copiesIn(tier, one)).bytes,
      doesNotFit: tallyOf([before, after], (_old, one) => misfit(servers, tier, one)),
    })
  }
}

const largestOf = (tallies: readonly CopyTally[], first: CopyTally): CopyTally =>
  tallies.reduce((most, one) => (one.copies > most.copies ? one : most), first)

/** Checks the losses that grow: the largest at a step, and that they begin up to the first step with more than at the beginning. */
function checkLaterLosses(
  { laterLosses = {}, steps = [] }: AnsweredSummary,
  moments: readonly (readonly Moment[])[],
  servers: readonly LoadingServer[],
): void {
  const names: LossName[] = ['unqueryable', 'unused', 'underReplicated', 'doesNotFit', 'waitingForTier']
  for (const name of names) {
    const isLost = (one: Moment) => lossOf(name, servers, one)
    const [now, ...later] = moments.map((list) => tallyOf([list, list], isLost))
    const lostNow = new Set(moments[0]!.filter((one) => isLost(one) > 0).map(({ segment }) => segment))
    const added = moments
      .slice(1)
      .map((list) => tallyOf([list, list], (one) => (lostNow.has(one.segment) ? 0 : isLost(one))))
    const first =
      name === 'unqueryable'
        ? added.findIndex(({ copies }) => copies > 0)
        : later.findIndex(({ copies }) => copies > now!.copies)
    const largest = largestOf(later, { segments: 0, copies: 0, bytes: 0 })
    const found: Partial<AnsweredLaterLoss> = laterLosses[name] ?? {}
    const { copies, ...ofSegments } = largest
    const { tiers: _, from, ...numbers } = found
    const isOfSegments = name === 'unused' || name === 'unqueryable'
    const { segments, bytes } = largestOf(added, { segments: 0, copies: 0, bytes: 0 })
    const more = isOfSegments ? { added: { segments, bytes } } : { copies }
    assert.deepEqual(numbers, first < 0 ? {} : { ...ofSegments, ...more }, name)
    assertUpTo(from, steps[first]?.now)
  }
}

/** Checks that something begins after the time of the preview, and at the latest at a step; never without a step. */
function assertUpTo(from: string | undefined, step: string | undefined): void {
  assert.equal(from === undefined, step === undefined)
  if (from === undefined || step === undefined) return
  assert.ok(parseInstant(from) > testNow && parseInstant(from) <= parseInstant(step), `${from} ${step}`)
}

/** Returns servers, some of them brokers, that are soon full. */
const withoutSpace = (servers: readonly LoadingServer[]): LoadingServer[] =>
  servers.map((server, at) => ({ ...server, decommissioning: false, maxSizeBytes: 3 + 4 * (at % 3) }))

describe('a horizon', () => {
  const counts = { full: 0, lost: 0 }

  function checkSteps(
    given: readonly PlacedSegment[],
    servers: readonly LoadingServer[],
    lists: Parameters<typeof rulesOf>[0],
    horizon: string,
  ): void {
    const rules = rulesOf(lists)
    const segments = withRoom(given, servers)
    const table = tableOf(segments, servers)
    const names = namesOf(table)
    const result = decide(table, rules, servers, { horizon: periodOf(horizon)! })
    const summary = formatSummary(result, true)
    const steps = summary.steps ?? []
    const moments = [testNow, ...steps.map(({ now }) => parseInstant(now))].map((now) =>
      momentsOf(segments, runPlanner(table, names, { now, rules, servers }), { now, rules, servers }),
    )
    const tiers = result.tiers.map(({ tier }) => tier)
    for (const [at, step] of steps.entries()) {
      const pair = [moments[at]!, moments[at + 1]!] as const
      for (const name of testDatasources) {
        const own = ({ segment }: Moment) => segment.dataSource === name
        checkDatasource(step.datasources[name]!, [pair[0].filter(own), pair[1].filter(own)], tiers)
      }
      checkTiers(step.tiers, pair, servers)
    }
    checkLaterLosses(summary, moments, servers)
    for (const tier of tiers) {
      const { doesNotFit, doesNotFitFrom: from } = summary.tiers![tier]!
      const first = steps.find((one) => one.tiers![tier]!.doesNotFit.copies > 0)
      if (doesNotFit.copies > 0) assert.equal(from, '2026-06-15T00:00:00.000Z')
      else assertUpTo(from ?? undefined, first?.now)
    }
    if (summary.laterLosses?.doesNotFit) counts.full += 1
    if (summary.laterLosses?.unused) counts.lost += 1
  }

  const horizons = fc.constantFrom('P12D', 'P30D', 'P60D', 'P100D')

  test('predicts what the planner does at each step in tiers without enough space', () => {
    const anySmall = fc.oneof(anyFullServers, anyServers.map(withoutSpace))
    fc.assert(fc.property(anySizes, anySmall, anyRuleLists, horizons, checkSteps), { numRuns: 200 })
    assert.ok(counts.lost > 10, JSON.stringify(counts))
  })

  test('predicts what the planner does at each step if data moves to a tier that fills up', () => {
    const period = fc.constantFrom('P5D', 'P10D', 'P20D')
    const cold = fc.constantFrom('loadForever', 'loadByPeriod', 'broadcastForever').map((type) => ({
      type,
      ...(type === 'loadByPeriod' ? { period: 'P30D' } : {}),
      ...(type === 'broadcastForever' ? {} : { tieredReplicants: { cold: 1, icy: 1 } }),
    }))
    const moving = fc
      .tuple(period, cold)
      .map(([ofHot, last]) =>
        parseRules([{ type: 'loadByPeriod', period: ofHot, tieredReplicants: { hot: 2 } }, last]),
      )
    const lists = fc.tuple(moving, moving, moving)
    fc.assert(fc.property(anySizes, anyFullServers, lists, horizons, checkSteps), { numRuns: 200 })
    assert.ok(counts.full > 20, JSON.stringify(counts))
  })

  test('predicts what the planner does at each step on servers with enough space', () => {
    fc.assert(fc.property(anySizes, anyServers, anyRuleLists, horizons, checkSteps), { numRuns: 100 })
  })

  test('finds the day on which segments become unused, even within a step of weeks or months', () => {
    const lists = fc.constantFrom('P2D', 'P5D', 'P20D', 'P1M').map((text) => {
      const rules = [
        { type: 'loadByPeriod', period: text, tieredReplicants: { hot: 1 } },
        { type: 'dropForever' },
      ]
      return [[], parseRules(rules), []] as RuleLists
    })
    const days = Array.from({ length: 50 }, (_, day) => testNow + day * dayMs)
    let found = 0
    fc.assert(
      fc.property(anySizes, lists, fc.constantFrom('P100D', 'P1Y'), (segments, given, horizon) => {
        const [table, rules] = [tableOf(segments, []), rulesOf(given)]
        const result = decide(table, rules, [], { horizon: periodOf(horizon)! })
        const from = formatSummary(result, true).laterLosses!.unused?.from
        const names = namesOf(table)
        const unused = days.map((now) => {
          const fates = runPlanner(table, names, { now, rules, servers: [] })
          return [...fates.values()].filter(({ isUsed }) => !isUsed).length
        })
        const first = unused.findIndex((count) => count > unused[0]!)
        assert.equal(from, first < 0 ? undefined : formatInstant(days[first]!))
        if (from !== undefined) found += 1
      }),
      { numRuns: 100 },
    )
    assert.ok(found > 20, String(found))
  })
})
