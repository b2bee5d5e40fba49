// A page computes previews from an encoded inventory, and the coordinator from its own tables. Both must answer the same.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { defaultRulesName, parseRules } from '../rules/index.ts'
import { finish } from '../steps/index.ts'
import {
  decideRequest,
  decodeInventory,
  encodeInventory,
  formatDecided,
  type PreviewedCluster,
  type PreviewServer,
  parsePreviewRequest,
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
function received(cluster: PreviewedCluster) {
  const pieces = finish(encodeInventory({ ...cluster, isComplete: true }))
  const bytes = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const piece of pieces) {
    bytes.set(piece, at)
    at += piece.length
  }
  return bytes.buffer
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
