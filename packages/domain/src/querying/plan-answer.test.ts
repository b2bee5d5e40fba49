import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { SegmentTable } from '../inventory/index.ts'
import type { Segment } from '../segment/index.ts'
import type { Interval } from '../time/index.ts'
import { type AnswerPlan, type AnswerSnapshot, planAnswer, planAnswerInParts } from './index.ts'

/** Parses `0-3 v1` or `0-3 v1 1/2`: days, version, partition number, and size of the core set. */
function segment(text: string): Segment {
  const [days = '', version = '', partition = '0/1'] = text.split(' ')
  const [start = 0, end = 0] = days.split('-').map(Number)
  const [partitionNum = 0, partitions = 1] = partition.split('/').map(Number)
  return {
    id: text,
    dataSource: 'd',
    interval: { start, end },
    version,
    partitionNum,
    partitions,
    sizeBytes: 1,
    totalRows: 1,
  }
}

const days = ({ start, end }: Interval) => `${start}-${end}`

interface Case {
  readonly name: string
  readonly used: readonly string[]
  readonly available: readonly string[]
  readonly lost?: readonly string[]
  readonly formerly?: readonly string[]
  readonly unwanted?: readonly string[]
  readonly answering: readonly string[]
  readonly missing?: readonly string[]
  readonly notLoaded?: number
}

const cases: readonly Case[] = [
  { name: 'nothing', used: [], available: [], answering: [] },
  {
    name: 'everything that is served',
    used: ['0-1 v1', '1-2 v1'],
    available: ['0-1 v1', '1-2 v1'],
    answering: ['0-1 v1', '1-2 v1'],
  },
  {
    name: 'nothing that was never loaded',
    used: ['0-1 v1', '1-2 v1'],
    available: ['0-1 v1'],
    answering: ['0-1 v1'],
    notLoaded: 1,
  },
  {
    name: 'the older version until the newer one is loaded',
    used: ['0-2 v1', '0-2 v2'],
    available: ['0-2 v1'],
    answering: ['0-2 v1'],
    notLoaded: 1,
  },
  {
    name: 'the older version until the newer one is completely loaded',
    used: ['0-2 v1', '0-2 v2 0/2', '0-2 v2 1/2'],
    available: ['0-2 v1', '0-2 v2 0/2'],
    answering: ['0-2 v1'],
    notLoaded: 2,
  },
  {
    name: 'the newer version once it is loaded',
    used: ['0-2 v1', '0-2 v2 0/2', '0-2 v2 1/2'],
    available: ['0-2 v1', '0-2 v2 0/2', '0-2 v2 1/2'],
    answering: ['0-2 v2 0/2', '0-2 v2 1/2'],
  },
  {
    name: 'an older segment only where newer ones do not overshadow it',
    used: ['0-5 v1', '2-3 v2'],
    available: ['0-5 v1', '2-3 v2'],
    answering: ['0-5 v1 in 0-2 3-5', '2-3 v2'],
  },
  {
    name: 'an error if the server of a segment is unavailable',
    used: ['0-1 v1', '1-2 v1'],
    available: ['0-1 v1'],
    lost: ['1-2 v1'],
    answering: ['0-1 v1', '1-2 v1'],
    missing: ['1-2 v1'],
    notLoaded: 0,
  },
  {
    name: 'an error if the server of an appended segment is unavailable',
    used: ['0-1 v1 0/0', '0-1 v1 1/0'],
    available: ['0-1 v1 0/0'],
    lost: ['0-1 v1 1/0'],
    answering: ['0-1 v1 0/0', '0-1 v1 1/0'],
    missing: ['0-1 v1 1/0'],
  },
  {
    name: 'an error, not the older version, if the server of a newer one is unavailable',
    used: ['0-1 v1', '0-1 v2'],
    available: ['0-1 v1'],
    lost: ['0-1 v2'],
    answering: ['0-1 v2'],
    missing: ['0-1 v2'],
  },
  {
    name: 'the newer version if an overshadowed segment is lost',
    used: ['0-1 v1', '0-1 v2'],
    available: ['0-1 v2'],
    lost: ['0-1 v1'],
    answering: ['0-1 v2'],
  },
  {
    name: 'nothing from a lost segment that rules no longer require',
    used: ['0-1 v1', '1-2 v1'],
    available: ['0-1 v1'],
    lost: ['1-2 v1'],
    unwanted: ['1-2 v1'],
    answering: ['0-1 v1'],
    notLoaded: 1,
  },
  {
    name: 'an error while the replacement of a dropped segment is not known to be served',
    used: ['0-2 v2', '2-3 v1'],
    available: ['2-3 v1'],
    formerly: ['0-1 v1', '1-2 v1'],
    answering: ['2-3 v1'],
    missing: ['0-2 v2'],
    notLoaded: 1,
  },
  {
    name: 'an error instead of an older version than that of a dropped segment',
    used: ['0-2 v1', '0-1 v3'],
    available: ['0-2 v1'],
    formerly: ['0-1 v2'],
    answering: ['0-2 v1'],
    missing: ['0-1 v3'],
    notLoaded: 1,
  },
  {
    name: 'nothing from a dropped segment without a replacement',
    used: ['2-3 v1'],
    available: ['2-3 v1'],
    formerly: ['0-1 v1'],
    answering: ['2-3 v1'],
  },
]

for (const { name, used, available, answering, missing = [], notLoaded, ...known } of cases) {
  it(`answers with ${name}`, () => {
    const plan = planAnswer({
      segments: used.map(segment),
      isAvailable: ({ id }) => available.includes(id),
      isLost: (id) => known.lost?.includes(id) ?? false,
      formerly: (known.formerly ?? []).map(segment),
      isWanted: ({ id }) => !known.unwanted?.includes(id),
    })
    const shown = plan.answering.map(({ segment: { id }, within }) =>
      within ? `${id} in ${within.map(days).join(' ')}` : id,
    )
    assert.deepEqual(shown.sort(), [...answering].sort())
    assert.deepEqual(
      plan.missing.map(({ id }) => id),
      missing,
    )
    if (notLoaded !== undefined) assert.equal(plan.notLoaded, notLoaded)
  })
}

/** Returns the plan made in parts, and the number of parts. */
function planInParts(snapshot: AnswerSnapshot, minSize: number): { plan: AnswerPlan; parts: number } {
  const planning = planAnswerInParts(snapshot, minSize)
  for (let parts = 0; ; parts += 1) {
    const { done, value } = planning.next()
    if (done) return { plan: value, parts }
  }
}

/** Returns the plan with its segments sorted by id. */
const unordered = ({ answering, missing, notLoaded }: AnswerPlan) => ({
  answering: answering.map(({ segment: { id }, within }) => `${id} ${within?.map(days)}`).sort(),
  missing: missing.map(({ id }) => id).sort(),
  notLoaded,
})

/** A small cluster: published segments, what servers hold, and what a broker has seen. */
class SmallCluster {
  used: Segment[] = []
  private versions = 0
  private readonly servers = [0, 1, 2].map(() => ({ alive: true, held: new Set<string>() }))
  private readonly seen = this.servers.map(() => new Set<string>())
  private readonly everSeen = new Set<string>()

  publish(start: number, length: number, parts: number): void {
    this.versions += 1
    const version = `v${String(this.versions).padStart(4, '0')}`
    for (let part = 0; part < parts; part++) {
      this.used.push(segment(`${start}-${start + length} ${version} ${part}/${parts}`))
    }
  }

  load(index: number, server: number): void {
    const target = this.servers[server]!
    if (target.alive && this.used.length > 0) target.held.add(this.used[index % this.used.length]!.id)
  }

  /** Acts like the coordinator: marks segments that served ones overshadow as unused, and drops unused segments. */
  coordinate(): void {
    const served = (id: string) => this.servers.some(({ alive, held }) => alive && held.has(id))
    const table = new SegmentTable()
    for (const { interval, ...one } of this.used) table.put({ ...one, ...interval })
    table.settleTimeline()
    const unused = new Set<string>()
    for (const group of table.takeCovered((row) => served(table.idOf(row))))
      table.forEachRow(group, (row) => unused.add(table.idOf(row)))
    this.used = this.used.filter(({ id }) => !unused.has(id))
    const usedIds = new Set(this.used.map(({ id }) => id))
    for (const { alive, held } of this.servers) {
      if (alive) for (const id of held) if (!usedIds.has(id)) held.delete(id)
    }
  }

  kill(server: number): void {
    this.servers[server]!.alive = false
  }

  restart(server: number): void {
    this.servers[server]!.alive = true
  }

  look(): void {
    this.servers.forEach(({ alive, held }, index) => {
      if (!alive) return
      this.seen[index] = new Set(held)
      for (const id of held) this.everSeen.add(id)
    })
  }

  snapshot(): AnswerSnapshot {
    this.look()
    const reached = (id: string) =>
      this.servers.some(({ alive }, index) => alive && this.seen[index]!.has(id))
    const used = new Set(this.used.map(({ id }) => id))
    return {
      segments: this.used,
      isAvailable: ({ id }) => reached(id),
      isLost: (id) => !reached(id) && this.seen.some((ids) => ids.has(id)),
      formerly: [...this.everSeen].filter((id) => !reached(id) || !used.has(id)).map(segment),
      isWanted: () => true,
    }
  }
}

const length = 6
const operation = fc.oneof(
  fc.record({
    kind: fc.constant('publish' as const),
    start: fc.nat(length - 1),
    days: fc.integer({ min: 1, max: 3 }),
    parts: fc.integer({ min: 1, max: 2 }),
  }),
  fc.record({ kind: fc.constant('load' as const), index: fc.nat(30), server: fc.nat(2) }),
  fc.record({ kind: fc.constant('load' as const), index: fc.nat(30), server: fc.nat(2) }),
  fc.record({ kind: fc.constant('coordinate' as const) }),
  fc.record({ kind: fc.constant('kill' as const), server: fc.nat(2) }),
  fc.record({ kind: fc.constant('restart' as const), server: fc.nat(2) }),
  fc.record({ kind: fc.constant('look' as const) }),
  fc.record({ kind: fc.constant('query' as const) }),
)

describe('answers of a broker over the lifetime of a cluster', () => {
  it('contain complete versions without overlap, and are never older or smaller than earlier answers', () => {
    fc.assert(
      fc.property(fc.array(operation, { minLength: 20, maxLength: 100, size: 'max' }), (operations) => {
        const cluster = new SmallCluster()
        const shownBefore = new Map<number, string>()
        for (const one of operations) {
          if (one.kind === 'publish') {
            cluster.publish(one.start, Math.min(one.days, length - one.start), one.parts)
          } else if (one.kind === 'load') cluster.load(one.index, one.server)
          else if (one.kind === 'coordinate') cluster.coordinate()
          else if (one.kind === 'kill') cluster.kill(one.server)
          else if (one.kind === 'restart') cluster.restart(one.server)
          else if (one.kind === 'look') cluster.look()
          else {
            const snapshot = cluster.snapshot()
            const plan = planAnswer(snapshot)
            for (const minSize of [1, 3])
              assert.deepEqual(unordered(planInParts(snapshot, minSize).plan), unordered(plan))
            if (plan.missing.length > 0) continue
            for (let day = 0; day < length; day++) {
              const parts = plan.answering.filter(({ segment: { interval }, within }) =>
                (within ?? [interval]).some(({ start, end }) => start <= day && day < end),
              )
              const versions = new Set(parts.map(({ segment: { version } }) => version))
              assert.ok(versions.size <= 1, `day ${day} shows ${[...versions]}`)
              const [version = ''] = versions
              if (version !== '') assert.equal(parts.length, parts[0]!.segment.partitions)
              assert.ok(version >= (shownBefore.get(day) ?? ''), `day ${day} goes back to [${version}]`)
              shownBefore.set(day, version)
            }
          }
        }
      }),
      { numRuns: 2000 },
    )
  })
})

it('plans many segments in parts, with many dropped ones', () => {
  const segments = Array.from({ length: 20_000 }, (_, index) => segment(`${index}-${index + 1} v1`))
  const dropped = Array.from({ length: 20_000 }, (_, index) => segment(`${2 * index}-${2 * index + 1} v2`))
  const { plan, parts } = planInParts(
    {
      segments,
      isAvailable: ({ interval }) => interval.start % 2 === 1,
      isLost: () => false,
      formerly: dropped,
      isWanted: () => true,
    },
    1000,
  )
  assert.equal(parts, 20)
  assert.equal(plan.answering.length, 10_000)
  // An older version cannot replace a dropped newer one, so its segments are missing.
  assert.equal(plan.missing.length, 10_000)
})
