// A preview must predict what the planner does. These tests compare the rows of a preview with the state that runs of the
// planner reach, on servers with enough space and on servers of different sizes that may be full.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { copyFlag, SegmentTable } from '../inventory/index.ts'
import type { LoadingServer } from '../loading/index.ts'
import { RetentionPlanner } from '../retention/index.ts'
import { defaultRulesName, parseRules, type Rule, type RulesByName } from '../rules/index.ts'
import { segmentId } from '../segment/index.ts'
import { finish } from '../steps/index.ts'
import { formatInterval } from '../time/index.ts'
import { decidePreview, type PreviewResult, type PreviewSegments, pageOfRows } from './index.ts'

const dayMs = 86_400_000
const now = Date.UTC(2026, 5, 15)
const dataSources = ['koalas', 'wiki']

const period = fc.constantFrom('P2D', 'P5D', 'P1M')
const interval = fc
  .tuple(fc.integer({ min: -40, max: 3 }), fc.integer({ min: 1, max: 20 }))
  .map(([from, days]) => formatInterval({ start: now + from * dayMs, end: now + (from + days) * dayMs }))
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

/** A segment of one day, and the numbers of the servers that serve it before the change. */
interface PlacedSegment {
  readonly dataSource: string
  readonly day: number
  readonly version: string
  readonly partitionNum: number
  readonly partitions: number
  readonly sizeBytes: number
  readonly servedBy: readonly number[]
}

const anySegments = fc.uniqueArray(
  fc.record<PlacedSegment>({
    dataSource: fc.constantFrom(...dataSources),
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
    dataSource: fc.constantFrom(...dataSources),
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

/** Returns a table with used segments and the servers that serve them. */
function tableOf(segments: readonly PlacedSegment[], servers: readonly LoadingServer[]): SegmentTable {
  const table = new SegmentTable()
  for (const { day, servedBy, ...key } of segments) {
    const start = now + day * dayMs
    const end = start + dayMs
    const id = segmentId({ ...key, interval: { start, end } })
    table.put({ ...key, id, start, end, totalRows: 1 })
    for (const number of servedBy)
      if (number < servers.length) table.changeCopy(id, number, copyFlag.served, 0)
  }
  table.settleTimeline()
  return table
}

/** Calls `visit` for each server that serves a segment. */
function forEachServer({ copies }: SegmentTable, row: number, visit: (server: number) => void): void {
  for (let entry = copies.firstOf[row]!; entry >= 0; entry = copies.nextOf[entry]!)
    if ((copies.flagsOf[entry]! & copyFlag.served) !== 0) visit(copies.serverOf[entry]!)
}

/** What happens to a segment. */
interface Fate {
  readonly isUsed: boolean
  readonly loaded: Readonly<Record<string, number>>
  readonly brokers: number
}

/** Returns the preview of rules on the current servers. */
function decide(
  table: SegmentTable,
  rules: RulesByName,
  servers: readonly LoadingServer[],
  assumesSpace: boolean,
) {
  const datasources = dataSources.map((dataSource) => {
    const number = table.datasourceNumber(dataSource)
    const rows: number[] = []
    for (const group of number < 0 ? [] : table.groupsOf(number))
      table.forEachRow(group, (row) => rows.push(row))
    const segmentAt = (index: number) => table.segment(rows[index]!)
    const segments: PreviewSegments = {
      dataSource,
      count: rows.length,
      start: (index) => segmentAt(index).interval.start,
      end: (index) => segmentAt(index).interval.end,
      sizeBytes: (index) => segmentAt(index).sizeBytes,
      version: (index) => segmentAt(index).version,
      partitionNum: (index) => segmentAt(index).partitionNum,
      isOvershadowed: (index) => table.isHidden(rows[index]!),
      forEachCopy: (index, visit) => forEachServer(table, rows[index]!, visit),
    }
    const own = rules.get(dataSource) ?? []
    return { segments, columns: undefined, own, defaults: rules.get(defaultRulesName) ?? [] }
  })
  return finish(
    decidePreview({
      now,
      datasources,
      servers,
      serversBefore: servers,
      concerned: new Set(dataSources),
      defaultsChange: true,
      knownDatasources: [],
      horizon: undefined,
      assumesSpace,
    }),
  )
}

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

/** Returns the servers with the bytes that they serve. */
function withUsedSizes(table: SegmentTable, servers: readonly LoadingServer[]): LoadingServer[] {
  const used = servers.map(() => 0)
  for (let row = 0; row < table.rowLimit; row += 1)
    forEachServer(table, row, (server) => {
      used[server]! += table.sizeOf[row]!
    })
  return servers.map((server, number) => ({ ...server, usedSizeBytes: used[number]! }))
}

/** Runs the planner and does what it decides, until it decides nothing more. Returns what happened to each segment. */
function runPlanner(table: SegmentTable, rules: RulesByName, servers: readonly LoadingServer[]) {
  const fates = new Map<string, string>()
  for (let row = 0; row < table.rowLimit; row += 1) {
    const { dataSource, interval: ofSegment, version, partitionNum } = table.segment(row)
    fates.set(table.idOf(row), [dataSource, formatInterval(ofSegment), version, partitionNum].join(' '))
  }
  const planner = new RetentionPlanner(table)
  const limits = { maxLoadsPerServer: Infinity, replicationThrottleLimit: Infinity }
  let decisions = 1
  for (let runs = 0; decisions > 0; runs += 1) {
    assert.ok(runs < 20, 'the planner does not come to an end')
    decisions = 0
    const run = planner.begin({ now, rules, servers: withUsedSizes(table, servers), limits })
    for (let part = run.next(); part !== undefined; part = run.next()) {
      const ids = [...fates.keys()]
      const nameOf = (row: number) => ids.find((id) => table.rowOf(id) === row)!
      const unused = part.markUnused.flatMap(({ rows }) => rows.map(nameOf))
      const loads = part.loads.rows.map((row, at) => ({ id: nameOf(row), server: part!.loads.servers[at]! }))
      const drops = part.drops.rows.map((row, at) => ({ id: nameOf(row), server: part!.drops.servers[at]! }))
      decisions += unused.length + loads.length + drops.length
      for (const id of unused) table.remove(id)
      for (const { id, server } of loads) table.changeCopy(id, server, copyFlag.served, 0)
      for (const { id, server } of drops) table.changeCopy(id, server, 0, copyFlag.served)
    }
  }
  return new Map(
    [...fates].map(([id, name]): [string, Fate] => [name, fateOf(table, table.rowOf(id), servers)]),
  )
}

function fateOf(table: SegmentTable, row: number, servers: readonly LoadingServer[]): Fate {
  const loaded: Record<string, number> = {}
  let brokers = 0
  if (row >= 0)
    forEachServer(table, row, (number) => {
      const { type, tier } = servers[number]!
      if (type === 'broker') brokers += 1
      else loaded[tier] = (loaded[tier] ?? 0) + 1
    })
  return { isUsed: table.isUsed(row), loaded, brokers }
}

type RuleLists = readonly [koalas: Rule[], wiki: Rule[], defaults: Rule[]]

const rulesOf = ([koalas, wiki, defaults]: RuleLists): RulesByName =>
  new Map([
    ['koalas', koalas],
    ['wiki', wiki],
    [defaultRulesName, defaults],
  ])

/** Checks that a preview of these rules predicts the state that the planner reaches. */
function checkPreview(
  segments: readonly PlacedSegment[],
  servers: readonly LoadingServer[],
  lists: RuleLists,
): void {
  const rules = rulesOf(lists)
  const table = tableOf(segments, servers)
  const predicted = fatesIn(decide(table, rules, servers, false))
  const reached = runPlanner(table, rules, servers)
  assert.deepEqual(new Map([...predicted].sort()), new Map([...reached].sort()))
}

const anyRuleLists = fc.tuple(anyRules, anyRules, anyRules)

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

test('a preview that assumes space is that of servers without limits, and says so only if they may run out of it', () => {
  let assumed = 0
  fc.assert(
    fc.property(anySizes, anyFullServers, anyRuleLists, (segments, anySized, lists) => {
      const servers = anySized.map((one) => ({ ...one, maxSizeBytes: Math.max(1, one.maxSizeBytes) }))
      const placed = withRoom(segments, servers)
      const [table, rules] = [tableOf(placed, servers), rulesOf(lists)]
      const quick = decide(table, rules, servers, true)
      const unlimited = servers.map((server) => ({ ...server, maxSizeBytes: Infinity }))
      assert.deepEqual(fatesIn(quick), fatesIn(decide(tableOf(placed, unlimited), rules, unlimited, false)))
      const exact = decide(table, rules, servers, false)
      assert.equal(exact.outcome.assumesSpace, false)
      if (quick.outcome.assumesSpace) assumed += 1
      else assert.deepEqual(fatesIn(quick), fatesIn(exact))
    }),
    { numRuns: 200 },
  )
  assert.ok(assumed > 20, String(assumed))
})

/** Returns the segments without the replicas for which the servers have no room. */
function withRoom(segments: readonly PlacedSegment[], servers: readonly LoadingServer[]): PlacedSegment[] {
  const left = servers.map(({ maxSizeBytes }) => maxSizeBytes)
  return segments.map((segment) => ({
    ...segment,
    servedBy: segment.servedBy.filter((server) => {
      if (!(left[server]! >= segment.sizeBytes)) return false
      left[server]! -= segment.sizeBytes
      return true
    }),
  }))
}
