// Clusters on which tests run the planner, to compare what it does with previews.
import { copyFlag, SegmentTable } from '../inventory/index.ts'
import type { LoadingServer } from '../loading/index.ts'
import { RetentionPlanner } from '../retention/index.ts'
import { defaultRulesName, type Rule, type RulesByName } from '../rules/index.ts'
import { segmentId } from '../segment/index.ts'
import { finish } from '../steps/index.ts'
import { dayMs, formatInterval, type Period } from '../time/index.ts'
import { decidePreview, type PreviewResult, type PreviewSegments } from './index.ts'
import { testNow } from './test-preview.ts'

export const testDatasources = ['koalas', 'wiki']

export type RuleLists = readonly [koalas: Rule[], wiki: Rule[], defaults: Rule[]]

export const rulesOf = ([koalas, wiki, defaults]: RuleLists): RulesByName =>
  new Map([
    ['koalas', koalas],
    ['wiki', wiki],
    [defaultRulesName, defaults],
  ])

/** A segment of one day, and the numbers of the servers that serve it before the change. */
export interface PlacedSegment {
  readonly dataSource: string
  readonly day: number
  readonly version: string
  readonly partitionNum: number
  readonly partitions: number
  readonly sizeBytes: number
  readonly servedBy: readonly number[]
}

/** Returns the segments without the replicas for which the servers have no room. */
export function withRoom(
  segments: readonly PlacedSegment[],
  servers: readonly LoadingServer[],
): PlacedSegment[] {
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

/** Returns a table with used segments and the servers that serve them. */
export function tableOf(segments: readonly PlacedSegment[], servers: readonly LoadingServer[]): SegmentTable {
  const table = new SegmentTable()
  for (const { day, servedBy, ...key } of segments) {
    const start = testNow + day * dayMs
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
export interface Fate {
  readonly isUsed: boolean
  readonly loaded: Readonly<Record<string, number>>
  readonly brokers: number
}

/** Returns the preview of rules on the current servers. */
export function decide(
  table: SegmentTable,
  rules: RulesByName,
  servers: readonly LoadingServer[],
  { assumesSpace, horizon }: { readonly assumesSpace?: boolean; readonly horizon?: Period } = {},
): PreviewResult {
  const datasources = testDatasources.map((dataSource) => {
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
      now: testNow,
      datasources,
      servers,
      serversBefore: servers,
      concerned: new Set(testDatasources),
      defaultsChange: true,
      knownDatasources: [],
      horizon,
      assumesSpace,
    }),
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

/** Returns what tests call each segment of a table, by id. */
export function namesOf(table: SegmentTable): Map<string, string> {
  const names = new Map<string, string>()
  for (let row = 0; row < table.rowLimit; row += 1) {
    const { dataSource, interval: ofSegment, version, partitionNum } = table.segment(row)
    names.set(table.idOf(row), [dataSource, formatInterval(ofSegment), version, partitionNum].join(' '))
  }
  return names
}

/** Runs the planner and does what it decides, until it decides nothing more. Returns what happened to each segment. */
export function runPlanner(
  table: SegmentTable,
  names: ReadonlyMap<string, string>,
  { now, rules, servers }: { now: number; rules: RulesByName; servers: readonly LoadingServer[] },
): Map<string, Fate> {
  const planner = new RetentionPlanner(table)
  const limits = { maxLoadsPerServer: Infinity, replicationThrottleLimit: Infinity }
  let decisions = 1
  for (let runs = 0; decisions > 0; runs += 1) {
    if (runs === 20) throw new Error('The planner does not come to an end')
    decisions = 0
    const run = planner.begin({ now, rules, servers: withUsedSizes(table, servers), limits })
    for (let part = run.next(); part !== undefined; part = run.next()) {
      const ids = [...names.keys()]
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
    [...names].map(([id, name]): [string, Fate] => [name, fateOf(table, table.rowOf(id), servers)]),
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
