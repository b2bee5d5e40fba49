import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { LoadTimeLimits } from '@svc/domain/load-time'
import { decidePreview, groupGivenSegments, type PreviewResult, rowsInPlaces } from '@svc/domain/preview'
import { defaultRule, parseRules } from '@svc/domain/rules'
import { finish } from '@svc/domain/steps'
import { parseInstant, parseInterval } from '@svc/domain/time'
import { loadTimeOf } from './load-time.ts'

const limits: LoadTimeLimits = {
  periodMs: 60_000,
  untilNextRunMs: 1000,
  maxLoadsPerServer: Infinity,
  replicationThrottleLimit: 500,
}
const tiers = ['hot', 'hot', 'cold', 'icy']
const servers = tiers.map((tier, index) => ({
  name: `s${index}`,
  type: 'historical' as const,
  tier,
  maxSizeBytes: 1e12,
  decommissioning: false,
}))
const loadingServers = servers.map((server, number) => ({
  ...server,
  number,
  priority: 0,
  usedSizeBytes: 0,
  loadingSizeBytes: 0,
  queuedLoads: 0,
}))
const sizes = [1000, 20_000, 300_000]
const segments = sizes.map((sizeBytes, index) => ({
  dataSource: index < 2 ? 'wiki' : 'flights',
  interval: parseInterval(`2026-06-0${index + 1}/2026-06-0${index + 2}`, 'interval'),
  version: 'v1',
  partitionNum: 0,
  partitions: 1,
  sizeBytes,
}))

/** The preview of rules for segments of which the first has a replica on server 0. */
function preview(tieredReplicants: object): { result: PreviewResult; loaded: Record<string, number>[] } {
  const groups = finish(groupGivenSegments(segments))
  const result = finish(
    decidePreview({
      now: parseInstant('2026-06-15'),
      datasources: groups.map(({ segments: own, places }) => ({
        segments: {
          ...own,
          forEachCopy: (index: number, visit: (server: number) => void) => {
            if (places[index] === 0) visit(0)
          },
        },
        columns: undefined,
        own: parseRules([{ type: 'loadForever', tieredReplicants }]),
        defaults: [defaultRule],
      })),
      servers,
      serversBefore: servers,
      concerned: new Set(['wiki', 'flights']),
      knownDatasources: [],
      defaultsChange: false,
      horizon: undefined,
    }),
  )
  const places = groups.map((group) => group.places)
  return { result, loaded: finish(rowsInPlaces(result, places)).map((row) => row.loaded) }
}

describe('the load time of a preview', () => {
  test('covers the replicas that each tier loads', () => {
    const { result, loaded } = preview({ hot: 2, cold: 1 })
    const rateOf = () => ({ msPerSegment: 10, msPerByte: 0.1 })
    const { tiers: found } = loadTimeOf(result, { servers: loadingServers, limits, rateOf })
    const expected = new Map<string, { loads: number; bytes: number }>()
    for (const [index, replicas] of loaded.entries()) {
      for (const [tier, count] of Object.entries(replicas)) {
        const before = tier === 'hot' && index === 0 ? 1 : 0
        const sum = expected.get(tier) ?? { loads: 0, bytes: 0 }
        sum.loads += count - before
        sum.bytes += (count - before) * sizes[index]!
        expected.set(tier, sum)
      }
    }
    const counted = Object.entries(found).map(([tier, { loads, bytes }]) => [tier, { loads, bytes }])
    assert.deepEqual(Object.fromEntries(counted), Object.fromEntries(expected))
    assert.deepEqual(
      [found.hot?.servers, found.hot?.measuredServers, found.hot?.limitedBy],
      [2, 2, 'servers'],
    )
  })

  test('is that of the slowest tier', () => {
    const { result } = preview({ hot: 2, cold: 1 })
    const rateOf = (name: string) => ({ msPerSegment: name === 's2' ? 10_000 : 10, msPerByte: 0 })
    const { durationMs, tiers: found } = loadTimeOf(result, { servers: loadingServers, limits, rateOf })
    assert.equal(found.cold?.durationMs, 31_000)
    assert.equal(durationMs, 31_000)
  })

  test('is unknown if no server of a tier has been measured', () => {
    const { result } = preview({ hot: 2, cold: 1 })
    const rateOf = (name: string) => (name === 's2' ? undefined : { msPerSegment: 10, msPerByte: 0 })
    const { durationMs, tiers: found } = loadTimeOf(result, { servers: loadingServers, limits, rateOf })
    assert.equal(durationMs, null)
    assert.deepEqual([found.cold?.durationMs, found.cold?.measuredServers], [null, 0])
    assert.ok(found.hot?.durationMs)
  })

  test('is 0 without loads', () => {
    const { result } = preview({})
    const found = loadTimeOf(result, { servers: loadingServers, limits, rateOf: () => undefined })
    assert.deepEqual(found, { durationMs: 0, tiers: {}, assumptions: [] })
  })
})
