// Simulates small clusters with arbitrary initial placement. Planning and moving must give every tier its replicas and
// even fill, and then stop. Meanwhile, no segment may have too few replicas, and no server may exceed its capacity.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { copyFlag, type SegmentTable } from '../inventory/index.ts'
import { RetentionPlanner } from '../retention/index.ts'
import { parseRules } from '../rules/index.ts'
import { type Segment, segmentId } from '../segment/index.ts'
import { simulatedServer, tableOf } from '../testing/index.ts'
import type { MoveList } from './plan-moves.ts'

const day = 86_400_000
const limits = { maxLoadsPerServer: 20, replicationThrottleLimit: 1000 }

/** Returns the bytes that a server serves, and those that it must still load. */
function bytesOf(table: SegmentTable, server: number) {
  const { copies, sizeOf } = table
  let [usedSizeBytes, loadingSizeBytes, queuedLoads] = [0, 0, 0]
  for (let entry = 0; entry < copies.limit; entry += 1) {
    if (copies.serverOf[entry] !== server) continue
    const size = sizeOf[copies.rowOf[entry]!]!
    if (copies.flagsOf[entry]! & copyFlag.served) usedSizeBytes += size
    else if (copies.flagsOf[entry]! & copyFlag.loading) {
      loadingSizeBytes += size
      queuedLoads += 1
    }
  }
  return { usedSizeBytes, loadingSizeBytes, queuedLoads }
}

const servedCopies = ({ copies }: SegmentTable, row: number): number => {
  let count = 0
  for (let entry = copies.firstOf[row]!; entry >= 0; entry = copies.nextOf[entry]!)
    if ((copies.flagsOf[entry]! & (copyFlag.served | copyFlag.dropping)) === copyFlag.served) count += 1
  return count
}

function isAnythingRequested({ copies }: SegmentTable): boolean {
  for (let entry = 0; entry < copies.limit; entry += 1)
    if (copies.serverOf[entry] !== -1 && copies.flagsOf[entry]! & (copyFlag.loading | copyFlag.dropping))
      return true
  return false
}

/** Lets the servers finish or fail the queued requests. */
function work(table: SegmentTable, happens: () => 'done' | 'failed' | 'waits'): void {
  const { copies } = table
  for (let entry = 0; entry < copies.limit; entry += 1) {
    if (copies.serverOf[entry] === -1) continue
    const [row, server, flags] = [copies.rowOf[entry]!, copies.serverOf[entry]!, copies.flagsOf[entry]!]
    const what = flags & (copyFlag.loading | copyFlag.dropping) ? happens() : 'waits'
    if (what === 'waits') continue
    const isLoad = (flags & copyFlag.loading) !== 0
    if (what === 'failed')
      table.changeRow(row, server, 0, copyFlag.loading | copyFlag.moving | copyFlag.dropping)
    else if (isLoad) table.changeRow(row, server, copyFlag.served, copyFlag.loading | copyFlag.moving)
    else table.changeRow(row, server, 0, 255)
  }
}

/** Returns the lists between the pauses of a calculation, including the last one. */
function listsOf(planning: Generator<MoveList, MoveList>): MoveList[] {
  const lists: MoveList[] = []
  for (;;) {
    const { value, done } = planning.next()
    lists.push(value)
    if (done) return lists
  }
}

test('planning moves of many segments pauses regularly', () => {
  const count = 20_000
  const list = Array.from({ length: count }, (_, number): Segment => {
    const key = { dataSource: 'wiki', interval: { start: number * day, end: (number + 1) * day } }
    const identity = { ...key, version: 'v1', partitionNum: 0 }
    return { ...identity, id: segmentId(identity), partitions: 1, sizeBytes: 1, totalRows: 1 }
  })
  const names = ['full', 'empty']
  const table = tableOf(
    list,
    names.map((name) => simulatedServer({ name })),
  )
  for (const { id } of list) table.changeRow(table.rowOf(id), 0, copyFlag.served, 0)
  const servers = names.map((name, number) => ({
    ...{ number, name, type: 'historical' as const, tier: '_default_tier', decommissioning: false },
    ...{ maxSizeBytes: 2 * count, usedSizeBytes: number === 0 ? count : 0 },
    ...{ loadingSizeBytes: 0, queuedLoads: 0 },
  }))
  const rules = new Map([
    ['_default', parseRules([{ type: 'loadForever', tieredReplicants: { _default_tier: 1 } }])],
  ])
  const run = new RetentionPlanner(table).begin({ now: 0, rules, servers, limits })
  while (run.next() !== undefined);
  const lists = listsOf(run.moves(10))
  assert.ok(lists.length > 4, `${lists.length}`)
  assert.equal(new Set(lists.flatMap(({ rows }) => rows)).size, 10)
  assert.deepEqual(
    lists.flatMap(({ to }) => to),
    Array.from({ length: 10 }, () => 1),
  )
})

const cluster = fc.record({
  required: fc.integer({ min: 1, max: 2 }),
  sizes: fc.array(fc.integer({ min: 2000, max: 3000 }), { minLength: 4, maxLength: 7 }),
  // Initially, segments are only on the first servers or on none.
  segments: fc.array(fc.record({ sizeBytes: fc.integer({ min: 5, max: 20 }), on: fc.nat(3) }), {
    minLength: 120,
    maxLength: 200,
  }),
  leaving: fc.option(fc.nat(6)),
  pace: fc.infiniteStream(
    fc.constantFrom('done' as const, 'done' as const, 'failed' as const, 'waits' as const),
  ),
})

test('clusters become evenly filled and stable without losing replicas or exceeding capacity', () => {
  fc.assert(
    fc.property(cluster, ({ required, sizes, segments, leaving, pace }) => {
      const list = segments.map(({ sizeBytes }, number): Segment => {
        const interval = { start: number * day, end: (number + 1) * day }
        const key = { dataSource: 'wiki', interval, version: 'v1', partitionNum: 0 }
        return { ...key, id: segmentId(key), partitions: 1, sizeBytes, totalRows: 1 }
      })
      const table = tableOf(
        list,
        sizes.map((_, at) => simulatedServer({ name: `n${at}` })),
      )
      for (const [at, { on }] of segments.entries())
        if (on < 2) table.changeRow(table.rowOf(list[at]!.id), on, copyFlag.served, 0)
      const planner = new RetentionPlanner(table)
      const rules = new Map([
        ['_default', parseRules([{ type: 'loadForever', tieredReplicants: { _default_tier: required } }])],
      ])
      let runs = 0
      for (let isOver = false; !isOver; runs += 1) {
        assert.ok(runs < 400, 'the cluster does not become stable')
        const servers = sizes.map((maxSizeBytes, number) => ({
          number,
          name: `n${number}`,
          type: 'historical' as const,
          tier: '_default_tier',
          maxSizeBytes,
          decommissioning: number === leaving,
          ...bytesOf(table, number),
        }))
        for (const { usedSizeBytes, loadingSizeBytes, maxSizeBytes } of servers)
          assert.ok(usedSizeBytes + loadingSizeBytes <= maxSizeBytes, 'never over capacity')
        const before = list.map(({ id }) => servedCopies(table, table.rowOf(id)))
        const run = planner.begin({ now: 0, rules, servers, limits })
        let planned = 0
        for (let part = run.next(); part !== undefined; part = run.next()) {
          const { loads, drops } = part
          planned += loads.rows.length + drops.rows.length
          for (const [at, row] of loads.rows.entries())
            table.changeRow(row, loads.servers[at]!, copyFlag.loading, 0)
          for (const [at, row] of drops.rows.entries())
            table.changeRow(row, drops.servers[at]!, copyFlag.dropping, 0)
        }
        const lists = listsOf(run.moves(5))
        const [rows, from, to] = (['rows', 'from', 'to'] as const).map((key) =>
          lists.flatMap((list) => list[key]),
        ) as [number[], number[], number[]]
        assert.ok(rows.length <= 5)
        rows.forEach((row, at) => {
          table.changeRow(row, from[at]!, copyFlag.leaving, 0)
          table.changeRow(row, to[at]!, copyFlag.loading | copyFlag.moving, 0)
        })
        for (const [at, { id }] of list.entries())
          assert.ok(
            servedCopies(table, table.rowOf(id)) >= Math.min(required, before[at]!),
            'never fewer replicas than required',
          )
        const isIdle = !isAnythingRequested(table)
        isOver = planned + rows.length === 0 && isIdle && runs > 10
        work(table, () => (runs < 100 ? pace.next().value : 'done'))
      }
      for (const { id } of list) assert.equal(servedCopies(table, table.rowOf(id)), required)
      const fills = sizes
        .map((maxSizeBytes, number) => bytesOf(table, number).usedSizeBytes / maxSizeBytes)
        .filter((_, number) => number !== leaving)
      assert.ok(Math.max(...fills) - Math.min(...fills) < 0.05, `evenly filled: ${fills}`)
      if (leaving !== null && leaving < sizes.length)
        assert.equal(bytesOf(table, leaving).usedSizeBytes, 0, 'decommissioning servers are emptied')
    }),
    { numRuns: 60 },
  )
})
