import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { columnsOf, decideRequest, type PreviewServer, parsePreviewRequest } from '../preview/index.ts'
import { formatRule, parseRules } from '../rules/index.ts'
import { finish } from '../steps/index.ts'
import { inventoryOfSnapshot, readSegmentRow, type SnapshotContents } from './index.ts'

const dayMs = 86_400_000
const now = Date.UTC(2026, 5, 15)

const server = (name: string, tier: string, maxSizeBytes: number): PreviewServer => ({
  name,
  type: 'historical',
  tier,
  maxSizeBytes,
  decommissioning: false,
})

const segment = (daysAgo: number, version = 'v1', sizeBytes = 10) => ({
  dataSource: 'wiki',
  interval: { start: now - daysAgo * dayMs, end: now - (daysAgo - 1) * dayMs },
  version,
  partitionNum: 0,
  partitions: 1,
  sizeBytes,
})

const contents: SnapshotContents = {
  now,
  servers: [server('hot-1', 'hot', 100), server('hot-2', 'hot', 90), server('cold-1', 'cold', 15)],
  rules: new Map([
    ['_default', parseRules([{ type: 'loadForever', tieredReplicants: { cold: 1 } }])],
    ['wiki', parseRules([{ type: 'loadByPeriod', period: 'P7D', tieredReplicants: { hot: 2 } }])],
  ]),
  segments: [segment(2), segment(3, 'v1'), segment(3, 'v2'), segment(30), segment(40)],
  placement: undefined,
}

/** Returns the servers of each segment, in the order of the snapshot. */
function serversOf(one: SnapshotContents): string[][] {
  const { datasources, servers } = finish(inventoryOfSnapshot(one))
  return datasources.flatMap(({ segments }) =>
    Array.from({ length: segments.count }, (_, index) => {
      const names: string[] = []
      segments.forEachCopy(index, (number) => names.push(servers[number]!.name))
      return names
    }),
  )
}

describe('the inventory of a snapshot', () => {
  test('places segments where the rules require them, as long as there is room', () => {
    assert.deepEqual(serversOf(contents), [['hot-1', 'hot-2'], [], ['hot-1', 'hot-2'], ['cold-1'], []])
  })

  test('has the listed copies, without those of unknown segments and servers', () => {
    const id = 'wiki_2026-05-16T00:00:00.000Z_2026-05-17T00:00:00.000Z_v1'
    const placement = new Map([
      ['cold-1', [id, 'wiki_unknown']],
      ['hot-2', [id]],
      ['gone', [id]],
    ])
    assert.deepEqual(serversOf({ ...contents, placement }), [[], [], [], ['hot-2', 'cold-1'], []])
  })

  test('recomputes which segments are overshadowed', () => {
    const { datasources } = finish(inventoryOfSnapshot(contents))
    assert.deepEqual(
      [0, 1, 2, 3, 4].map((index) => datasources[0]!.segments.isOvershadowed(index)),
      [false, true, false, false, false],
    )
    assert.deepEqual(finish(columnsOf(datasources[0]!.segments)).overshadowed, { segments: 1, bytes: 10 })
  })

  test('drop rules place nothing, and broadcast rules place segments on every server', () => {
    const withRules = (list: readonly object[]) =>
      serversOf({ ...contents, rules: new Map([['wiki', parseRules(list)]]), segments: [segment(2)] })
    assert.deepEqual(withRules([{ type: 'dropForever' }]), [[]])
    assert.deepEqual(withRules([{ type: 'broadcastForever' }]), [['hot-1', 'hot-2', 'cold-1']])
  })

  test('needs no moves under the rules by which it was placed', () => {
    const inventory = finish(inventoryOfSnapshot({ ...contents, segments: contents.segments.slice(0, 4) }))
    const effectsOf = (rules: object): object => {
      const request = finish(parsePreviewRequest({ rules }, now))
      const decided = finish(decideRequest(request, inventory, { canRead: () => true, canReadTiers: true }))
      const { totalEffects } = decided.result
      return Object.fromEntries(
        (['loaded', 'dropped', 'moved', 'unqueryable'] as const).map((name) => [
          name,
          totalEffects.of(name).segments,
        ]),
      )
    }
    const stored = inventory.rules.get('wiki')!.map(formatRule)
    assert.deepEqual(effectsOf({ wiki: stored }), { loaded: 0, dropped: 0, moved: 0, unqueryable: 0 })
    assert.deepEqual(effectsOf({ wiki: [{ type: 'dropForever' }] }), {
      loaded: 0,
      dropped: 3,
      moved: 0,
      unqueryable: 3,
    })
  })
})

describe('a segment of a snapshot', () => {
  test('may have been saved from Druid, with its own types of partitions', () => {
    const read = readSegmentRow({
      dataSource: 'wiki',
      interval: '2026-01-01/2026-01-02',
      version: 'v1',
      shardSpec: { type: 'hashed', partitionNum: 1, partitions: 2 },
      size: 5,
      numRows: 7,
    })
    assert.ok('segment' in read)
    assert.equal(read.segment.id, 'wiki_2026-01-01T00:00:00.000Z_2026-01-02T00:00:00.000Z_v1_1')
  })
})
