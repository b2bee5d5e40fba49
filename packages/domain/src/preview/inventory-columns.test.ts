// A page computes previews from an encoded inventory, and the coordinator from its own tables. Both must answer the same.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { defaultRulesName, parseRules } from '../rules/index.ts'
import { finish } from '../steps/index.ts'
import {
  decideRequest,
  decodeInventory,
  encodeInventory,
  formatDecided,
  type InventoryUpdate,
  type PreviewedCluster,
  type PreviewServer,
  parsePreviewRequest,
  updateInventory,
} from './index.ts'

const dayMs = 86_400_000
const now = Date.UTC(2026, 5, 15)

const period = fc.constantFrom('P2D', 'P5D', 'P1M', 'PT36H')
const tieredReplicants = fc.dictionary(fc.constantFrom('cold', 'hot', 'icy'), fc.nat(3))
const anyRule = fc.oneof(
  fc.record({ type: fc.constant('loadByPeriod'), period, includeFuture: fc.boolean(), tieredReplicants }),
  fc.record({ type: fc.constant('loadForever'), tieredReplicants }),
  fc.record({ type: fc.constantFrom('dropByPeriod', 'dropBeforeByPeriod', 'broadcastByPeriod'), period }),
  fc.record({ type: fc.constantFrom('dropForever', 'broadcastForever') }),
)
const anyRules = fc.array(anyRule, { maxLength: 4 })

const anyServers = fc.array(
  fc.record({
    type: fc.constantFrom('historical' as const, 'historical' as const, 'broker' as const),
    tier: fc.constantFrom('cold', 'hot'),
    maxSizeBytes: fc.constantFrom(0, 40, 200, Infinity),
    decommissioning: fc.boolean(),
  }),
  { minLength: 1, maxLength: 6 },
)
const anySegment = fc.record({
  day: fc.integer({ min: -40, max: 3 }),
  days: fc.constantFrom(1, 1, 1, 7, Infinity),
  sizeBytes: fc.nat(30),
  version: fc.constantFrom('v1', 'v2', 'Ünïcode "v"'),
  partitionNum: fc.nat(3),
  isOvershadowed: fc.boolean(),
  servedBy: fc.uniqueArray(fc.nat(5), { maxLength: 5 }),
})

type AnySegment = typeof anySegment extends fc.Arbitrary<infer Segment> ? Segment : never

const anyCluster = fc
  .record({
    servers: anyServers,
    defaults: fc.array(anyRule, { minLength: 1, maxLength: 2 }),
    lists: fc.dictionary(fc.constantFrom('koalas', 'wiki', '__proto__'), anyRules),
    segments: fc.dictionary(
      fc.constantFrom('koalas', 'wiki', 'ελ\u202eή'),
      fc.array(anySegment, { minLength: 1, maxLength: 12 }),
    ),
  })
  .map(({ servers, defaults, lists, segments }): PreviewedCluster => {
    const named = servers.map((server, index): PreviewServer => ({ ...server, name: `server-${index}` }))
    return {
      now,
      servers: named,
      rules: new Map([
        [defaultRulesName, parseRules(defaults)],
        ...Object.entries(lists).map(([name, list]) => [name, parseRules(list)] as const),
      ]),
      datasources: Object.entries(segments).map(([dataSource, list]) => ({
        segments: {
          dataSource,
          count: list.length,
          start: (index) => (list[index]!.days === Infinity ? -Infinity : now + list[index]!.day * dayMs),
          end: (index) => now + (list[index]!.day + list[index]!.days) * dayMs,
          sizeBytes: (index) => list[index]!.sizeBytes,
          version: (index) => list[index]!.version,
          partitionNum: (index) => list[index]!.partitionNum,
          isOvershadowed: (index) => list[index]!.isOvershadowed,
          forEachCopy: (index, visit) => {
            for (const server of list[index]!.servedBy) if (server < named.length) visit(server)
          },
        },
        columns: undefined,
        keep: () => undefined,
      })),
    }
  })

const anyEdit = fc.oneof(
  fc.record({ rules: fc.dictionary(fc.constantFrom('koalas', 'wiki', 'new'), anyRules) }),
  fc.record({
    rules: fc.dictionary(fc.constantFrom('wiki'), anyRules, { minKeys: 1 }),
    horizon: fc.constantFrom('P30D', 'PT12H'),
  }),
  fc.record({ rules: anyRules }),
  fc.record({ rules: fc.constant({}), defaultRules: fc.array(anyRule, { minLength: 1, maxLength: 2 }) }),
)

/** Joins the pieces of an encoded inventory, as a reader receives them. */
function received(cluster: PreviewedCluster & Partial<InventoryUpdate>) {
  const pieces = finish(encodeInventory({ ...cluster, isComplete: true }))
  const bytes = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const piece of pieces) {
    bytes.set(piece, at)
    at += piece.length
  }
  return bytes.buffer
}

/** Returns the summary of an answer without the segments, whose order may differ. */
function summaryOn(cluster: PreviewedCluster, edit: object): unknown {
  const text = answerOn(cluster, edit)
  return text.startsWith('{') ? (JSON.parse(text) as { summary: unknown }).summary : text
}

function answerOn(cluster: PreviewedCluster, edit: object): string {
  const request = finish(parsePreviewRequest(edit, cluster.now))
  const reader = { canRead: () => true, canReadTiers: true }
  try {
    const decided = finish(decideRequest(request, cluster, reader, { buckets: 100 }))
    return JSON.stringify(finish(formatDecided(decided, { full: true, offset: 0, limit: 1000 })))
  } catch (error) {
    return String(error)
  }
}

test('a decoded inventory answers 1,000 random edits of rules like the original', () => {
  fc.assert(
    fc.property(anyCluster, fc.array(anyEdit, { minLength: 5, maxLength: 5 }), (cluster, edits) => {
      const decoded = decodeInventory(received(cluster))
      for (const edit of edits) assert.equal(answerOn(decoded, edit), answerOn(cluster, edit))
    }),
    { numRuns: 200 },
  )
})

test('encodes long lists of rules with pauses', () => {
  const list = parseRules(Array.from({ length: 9500 }, () => ({ type: 'dropByPeriod', period: 'P1D' })))
  const cluster = { now, servers: [], rules: new Map([['wiki', list]]), datasources: [], isComplete: true }
  const steps = encodeInventory(cluster)
  let pauses = 0
  while (!steps.next().done) pauses += 1
  // For each 200 rules, the list, and each 200,000 characters.
  assert.equal(pauses, 47 + 1 + 2)
  assert.deepEqual(decodeInventory(received(cluster)).rules.get('wiki'), list)
})

test('an inventory of a million segments takes few bytes per segment', () => {
  const count = 100_000
  const cluster: PreviewedCluster = {
    now,
    servers: [],
    rules: new Map(),
    datasources: [
      {
        segments: {
          dataSource: 'wiki',
          count,
          start: (index) => index * 1000,
          end: (index) => index * 1000 + 1000,
          sizeBytes: () => 1,
          version: () => 'v1',
          partitionNum: () => 0,
          isOvershadowed: () => false,
          forEachCopy: (_, visit) => {
            visit(1)
            visit(2)
          },
        },
        columns: undefined,
        keep: () => undefined,
      },
    ],
  }
  assert.ok(received(cluster).byteLength < 40 * count)
})

test('bytes in another format are rejected', () => {
  assert.throws(() => decodeInventory(new ArrayBuffer(64)), /unknown format/)
})

describe('an update', () => {
  const anySegments = fc.uniqueArray(fc.record({ key: fc.nat(30), segment: anySegment }), {
    selector: ({ key }) => key,
    maxLength: 20,
  })
  type Keyed = readonly { readonly key: number; readonly segment: AnySegment }[]
  const servers = (names: readonly string[]): PreviewServer[] =>
    names.map((name) => ({
      name,
      type: 'historical',
      tier: name.slice(0, 3),
      maxSizeBytes: 100,
      decommissioning: false,
    }))
  const clusterOf = (lists: Readonly<Record<string, Keyed>>, names: readonly string[]): InventoryUpdate => ({
    now,
    isComplete: true,
    eventId: 'x.1',
    servers: servers(names),
    rules: new Map([[defaultRulesName, parseRules([{ type: 'loadForever' }])]]),
    datasources: Object.entries(lists)
      .filter(([, list]) => list.length > 0)
      .map(([dataSource, list]) => ({
        segments: {
          dataSource,
          count: list.length,
          start: (index) => now + list[index]!.segment.day * dayMs,
          end: (index) => now + (list[index]!.segment.day + 1) * dayMs,
          sizeBytes: (index) => list[index]!.segment.sizeBytes,
          version: (index) => list[index]!.segment.version,
          // Unique, so that both orders of the same segments place replicas equally.
          partitionNum: (index) => list[index]!.key,
          isOvershadowed: (index) => list[index]!.segment.isOvershadowed,
          key: (index) => list[index]!.key,
          forEachCopy: (index, visit) => {
            for (const server of list[index]!.segment.servedBy) if (server < names.length) visit(server)
          },
        },
        columns: undefined,
        keep: () => undefined,
      })),
  })

  test('of what has changed makes an inventory equal to one that was sent in full', () => {
    const lists = fc.record({ koalas: anySegments, wiki: anySegments })
    const serverNames = fc.constantFrom<string[]>(
      ['hot1', 'hot2', 'cold1'],
      ['cold1', 'hot2'],
      ['new1', 'hot1', 'hot2'],
    )
    fc.assert(
      fc.property(
        lists,
        lists,
        serverNames,
        serverNames,
        fc.array(anyEdit),
        (first, drafts, before, after, edits) => {
          // Without a change, replicas stay on the same servers, by name.
          const moved = (list: Keyed): Keyed =>
            list.map(({ key, segment }) => {
              const servedBy = segment.servedBy.flatMap((at) =>
                at < before.length && after.includes(before[at]!) ? [after.indexOf(before[at]!)] : [],
              )
              return { key, segment: { ...segment, servedBy } }
            })
          const changed = Object.entries(drafts).map(([name, list]) => [
            name,
            list.filter(({ key }) => key % 3 > 0),
          ])
          const removed = new Map(
            Object.entries(drafts).map(([name, list]) => [
              name,
              list.map(({ key }) => key).filter((key) => key % 3 === 0),
            ]),
          )
          const second = Object.fromEntries(
            Object.entries(first).map(([name, list]) => {
              const replaced = new Map(moved(list).map((one) => [one.key, one]))
              for (const key of removed.get(name)!) replaced.delete(key)
              for (const one of Object.fromEntries(changed)[name] as Keyed) replaced.set(one.key, one)
              return [name, [...replaced.values()]]
            }),
          )
          const old = decodeInventory(received(clusterOf(first, before)))
          for (const edit of edits.slice(0, 1)) answerOn(old, edit)
          const update = { ...clusterOf(Object.fromEntries(changed), after), removed }
          const updated = finish(updateInventory(old, decodeInventory(received(update))))
          const full = decodeInventory(received(clusterOf(second, after)))
          assert.deepEqual(updated.servers, full.servers)
          for (const edit of [{ rules: {} }, ...edits])
            assert.deepEqual(summaryOn(updated, edit), summaryOn(full, edit))
        },
      ),
      { numRuns: 100 },
    )
  })

  test('that adds segments keeps visible segments in the order of time', () => {
    const versionOf = (key: number) => (key < 4 ? 'v1' : 'v2')
    const keyed = (key: number, day: number, isOvershadowed = false): Keyed[number] => ({
      key,
      segment: {
        day,
        days: 1,
        sizeBytes: 1,
        version: versionOf(key),
        partitionNum: 0,
        isOvershadowed,
        servedBy: [],
      },
    })
    const old = decodeInventory(
      received(clusterOf({ wiki: [keyed(0, -6), keyed(1, -4), keyed(2, -2), keyed(3, -6, true)] }, ['hot1'])),
    )
    const update = {
      ...clusterOf({ wiki: [keyed(5, 0), keyed(4, -5), keyed(6, -4), keyed(1, -4)] }, ['hot1']),
      removed: new Map([['wiki', [2]]]),
    }
    const { datasources } = finish(updateInventory(old, decodeInventory(received(update))))
    const { segments } = datasources[0]!
    const keys = Array.from({ length: segments.count }, (_, index) => segments.key(index))
    // Overshadowed segments, such as that with key 3, are anywhere.
    assert.deepEqual(keys, [0, 4, 1, 3, 6, 5])
    assert.deepEqual(
      keys.map((_, index) => segments.version(index)),
      keys.map(versionOf),
    )
  })
})
