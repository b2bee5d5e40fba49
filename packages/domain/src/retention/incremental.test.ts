// An incremental run must make the same decisions as a full run. These tests apply random histories of segments, rules,
// servers, and time to two tables, and compare both kinds of run after each step.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { copyFlag, SegmentTable } from '../inventory/index.ts'
import type { LoadingServer } from '../loading/index.ts'
import { parseRules, type Rule } from '../rules/index.ts'
import { segmentId } from '../segment/index.ts'
import { analyzeTimeline } from '../timeline/index.ts'
import { RetentionPlanner } from './index.ts'

const day = 86_400_000
const start = Date.UTC(2026, 2, 1)
const names = ['wiki', 'koalas']
const load = (tieredReplicants: Record<string, number>, more: object = { type: 'loadForever' }) => ({
  tieredReplicants,
  ...more,
})
const period = fc.constantFrom('P2D', 'P5D', 'P1M')
const anyRule = fc.oneof(
  fc.record({ hot: fc.nat(2), cold: fc.nat(2), icy: fc.nat(1) }).map((one) => load(one)),
  fc
    .tuple(period, fc.boolean(), fc.nat(2))
    .map(([one, includeFuture, hot]) => load({ hot }, { type: 'loadByPeriod', period: one, includeFuture })),
  period.map((one) => ({ type: 'dropBeforeByPeriod', period: one })),
  fc
    .tuple(period, fc.boolean())
    .map(([one, includeFuture]) => ({ type: 'dropByPeriod', period: one, includeFuture })),
  fc.constant({ type: 'loadByInterval', interval: '2026-02-20/2026-03-01', tieredReplicants: { cold: 2 } }),
  fc.constant({ type: 'broadcastForever' }),
  period.map((one) => ({ type: 'broadcastByPeriod', period: one, includeFuture: false })),
)
const anySegment = fc
  .record({
    dataSource: fc.constantFrom(...names),
    from: fc.integer({ min: -40, max: 3 }),
    days: fc.constantFrom(1, 1, 1, 3, Infinity),
    version: fc.constantFrom('v1', 'v2', 'v3'),
    partitionNum: fc.nat(1),
    partitions: fc.constantFrom(0, 1, 2),
  })
  .map(({ from, days, ...key }) => {
    const interval =
      days === Infinity
        ? { start: -Infinity, end: Infinity }
        : { start: start + from * day, end: start + (from + days) * day }
    return {
      ...key,
      interval,
      id: segmentId({ ...key, interval }),
      sizeBytes: 1 + key.partitionNum,
      totalRows: 1,
    }
  })
const anyServer = fc.record({
  tier: fc.constantFrom('hot', 'cold'),
  type: fc.constantFrom('historical' as const, 'historical' as const, 'broker' as const),
  maxSizeBytes: fc.constantFrom(0, 5, 1000),
  decommissioning: fc.constantFrom(false, false, true),
})
const putStep = fc.record({ kind: fc.constant('put' as const), segment: anySegment })
const rulesStep = fc.record({
  kind: fc.constant('rules' as const),
  name: fc.constantFrom(...names, '_default'),
  rules: fc.array(anyRule, { maxLength: 3 }),
})
const serverStep = fc.record({
  kind: fc.constant('server' as const),
  number: fc.nat(4),
  server: fc.option(anyServer, { freq: 6 }),
})
const timeStep = fc.record({
  kind: fc.constant('time' as const),
  ms: fc.constantFrom(1, 3_600_000, day, 2 * day, 9 * day),
})
const workStep = fc.record({ kind: fc.constant('work' as const), pace: fc.infiniteStream(fc.boolean()) })
const step = fc.oneof(
  { arbitrary: putStep, weight: 2 },
  { arbitrary: fc.record({ kind: fc.constant('remove' as const), pick: fc.nat() }), weight: 1 },
  { arbitrary: rulesStep, weight: 1 },
  { arbitrary: serverStep, weight: 2 },
  { arbitrary: timeStep, weight: 4 },
  { arbitrary: workStep, weight: 4 },
  { arbitrary: fc.record({ kind: fc.constant('forget' as const), number: fc.nat(4) }), weight: 1 },
)
// A history starts with something that can change.
const history = fc
  .tuple(
    fc.array(putStep, { minLength: 4, maxLength: 10 }),
    fc.array(serverStep, { minLength: 2, maxLength: 5 }),
    fc.array(rulesStep, { minLength: 1, maxLength: 3 }),
    fc.array(step, { maxLength: 20 }),
  )
  .map((parts) => parts.flat())
const limits = { maxLoadsPerServer: 4, replicationThrottleLimit: 3 }

/** A table with its planner. Both sides get the same changes. */
class Side {
  readonly table = new SegmentTable()
  readonly planner = new RetentionPlanner(this.table)

  run(
    now: number,
    rules: ReadonlyMap<string, readonly Rule[]>,
    servers: readonly LoadingServer[],
    wholly: boolean,
  ) {
    const run = this.planner.begin({ now, rules, servers, limits }, wholly)
    const markedUnused: string[] = []
    for (let part = run.next(3); part !== undefined; part = run.next(3)) {
      for (const kind of ['loads', 'drops', 'cancelledLoads'] as const)
        part[kind].rows.forEach((row, at) => {
          markedUnused.push(`${kind} ${part?.[kind].servers[at]} ${this.table.idOf(row)}`)
        })
      for (const { rows, reason } of part.markUnused)
        for (const row of rows) markedUnused.push(`unused ${this.table.idOf(row)} ${reason}`)
    }
    // The order of hidden segments depends on earlier calls, so sort the result.
    const unplaced = run.unplaced().map(({ tier, reason, copies }) => `${reason} ${tier} ${copies}`)
    return { markedUnused, unplaced: unplaced.sort(), tiers: [...run.tiersWithoutServers()].sort() }
  }
}

const unusedIds = (markedUnused: readonly string[]) =>
  markedUnused.filter((line) => line.startsWith('unused ')).map((line) => line.split(' ')[1] as string)

test('decides the same in an incremental run as in a full run', () => {
  fc.assert(
    fc.property(history, (steps) => {
      const sides = [new Side(), new Side()] as const
      const rules = new Map<string, readonly Rule[]>([['_default', parseRules([load({ hot: 1 })])]])
      const servers = new Map<
        number,
        Omit<LoadingServer, 'loadingSizeBytes' | 'queuedLoads' | 'usedSizeBytes'>
      >()
      const used = new Set<string>()
      let now = start
      for (const one of steps) {
        if (one.kind === 'put') {
          used.add(one.segment.id)
          const { interval, ...segment } = one.segment
          for (const { table } of sides) table.put({ ...segment, ...interval })
        } else if (one.kind === 'remove') {
          const id = [...used][one.pick % Math.max(1, used.size)]
          if (id !== undefined) for (const { table } of sides) table.remove(id)
          used.delete(id ?? '')
        } else if (one.kind === 'rules') rules.set(one.name, parseRules(one.rules))
        else if (one.kind === 'time') now += one.ms
        else if (one.kind === 'server') {
          const { number, server } = one
          if (server === null) {
            servers.delete(number)
            for (const { table } of sides) table.clearServers(new Set([number]))
          } else servers.set(number, { ...server, number, name: `n${number}` })
        } else if (one.kind === 'forget') {
          for (const { table } of sides)
            changeFlags(table, one.number, () => [0, copyFlag.loading | copyFlag.dropping])
        } else {
          const choices = [
            ...{
              *[Symbol.iterator]() {
                for (let at = 0; at < 200; at += 1) yield one.pace.next().value
              },
            },
          ]
          for (const { table } of sides) {
            let at = 0
            for (const number of servers.keys())
              changeFlags(table, number, (flags) => {
                at += 1
                if (!choices[at % choices.length]) return [0, 0]
                if (flags & copyFlag.loading) return [copyFlag.served, copyFlag.loading]
                return flags & copyFlag.dropping ? [0, copyFlag.served | copyFlag.dropping] : [0, 0]
              })
          }
        }
        const loadingOf = (number: number) => {
          const { copies, sizeOf } = sides[0].table
          let [bytes, count, held] = [0, 0, 0]
          for (let entry = 0; entry < copies.limit; entry += 1) {
            if (copies.serverOf[entry] !== number) continue
            const size = sizeOf[copies.rowOf[entry]!]!
            if (copies.flagsOf[entry]! & copyFlag.loading) {
              bytes += size
              count += 1
            } else held += size
          }
          return { loadingSizeBytes: bytes, queuedLoads: count, usedSizeBytes: held }
        }
        const seen = [...servers.values()].map((server) => ({ ...server, ...loadingOf(server.number) }))
        const [first, full] = [sides[0].run(now, rules, seen, false), sides[1].run(now, rules, seen, true)]
        assert.deepEqual(
          { ...first, markedUnused: first.markedUnused.toSorted() },
          { ...full, markedUnused: full.markedUnused.toSorted() },
        )
        checkHidden(sides[0].table, used)
        // Applies the decisions to both sides, and loses some of them.
        for (const line of first.markedUnused) {
          const [kind, server, id] = line.split(' ') as [string, string, string]
          if (kind === 'loads' || kind === 'drops')
            for (const { table } of sides)
              table.changeCopy(id, Number(server), kind === 'loads' ? copyFlag.loading : copyFlag.dropping, 0)
        }
        for (const id of unusedIds(first.markedUnused)) {
          if (id.length % 5 === 0) continue
          used.delete(id)
          for (const { table } of sides) table.remove(id)
        }
      }
    }),
    { numRuns: 1500 },
  )
})

function changeFlags(
  table: SegmentTable,
  number: number,
  change: (flags: number) => readonly [set: number, clear: number],
): void {
  const { copies } = table
  for (let entry = 0; entry < copies.limit; entry += 1) {
    if (copies.serverOf[entry] !== number) continue
    const [set, clear] = change(copies.flagsOf[entry]!)
    table.changeRow(copies.rowOf[entry]!, number, set, clear)
  }
}

/** Checks that the hidden segments of the table are those that the timeline overshadows. */
function checkHidden(table: SegmentTable, used: ReadonlySet<string>): void {
  for (const name of names) {
    const rows = [...used]
      .map((id) => table.rowOf(id))
      .filter((row) => table.segment(row).dataSource === name)
    const { overshadowed } = analyzeTimeline(rows.map((row) => table.segment(row)))
    assert.deepEqual(
      rows.map((row) => table.isHidden(row)),
      overshadowed,
    )
  }
}
