import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  loadingLimitsOf,
  overshadowedWaitMs,
  readConfigChange,
  readCoordinatorConfig,
  warningsOfChange,
} from './coordinator-config.ts'

const limitsOf = (given: object, segments: number, servers: number) => {
  const config = readCoordinatorConfig({ value: JSON.stringify(given) })
  const limits = loadingLimitsOf(config, segments, servers)
  return [limits.maxLoadsPerServer, limits.replicationThrottleLimit, limits.maxSegmentsToMove]
}
const noSmart = { smartSegmentLoading: false }

describe('the limits of a coordinator run', () => {
  for (const { name, given, segments, servers, expected } of [
    {
      name: 'have minimums for a small cluster',
      given: {},
      segments: 10,
      servers: 1,
      expected: [5000, 100, 100],
    },
    {
      name: 'grow with the number of segments',
      given: {},
      segments: 20_000,
      servers: 100,
      expected: [1000, 1000, 400],
    },
    {
      name: 'have maximums for a large cluster',
      given: {},
      segments: 1_000_000,
      servers: 1000,
      expected: [100, 50_000, 1000],
    },
    {
      name: 'are the configured values without smart segment loading',
      given: noSmart,
      segments: 1e6,
      servers: 9,
      expected: [500, 500, 100],
    },
    {
      name: 'respect fields set to other values than their defaults',
      given: { maxSegmentsInNodeLoadingQueue: 4, maxSegmentsToMove: 0 },
      segments: 20_000,
      servers: 100,
      expected: [4, 1000, 0],
    },
    {
      name: 'treat a max queue length of 0 as unlimited',
      given: { ...noSmart, maxSegmentsInNodeLoadingQueue: 0 },
      segments: 10,
      servers: 1,
      expected: [Infinity, 500, 100],
    },
  ])
    it(name, () => assert.deepEqual(limitsOf(given, segments, servers), expected))
})

describe('a config change', () => {
  it('warns about fields without effect', () => {
    const change = readConfigChange(
      {
        balancerComputeThreads: 8,
        useRoundRobinSegmentAssignment: true,
        debugDimensions: { dataSource: 'wiki' },
        maxSegmentsToMove: 5,
      },
      '',
    )
    assert.deepEqual(
      warningsOfChange(change).map(({ field }) => field),
      ['balancerComputeThreads', 'debugDimensions'],
    )
  })

  for (const change of [
    { decommissioningNodes: ['a\0:8083'] },
    { turboLoadingNodes: ['a', 'b\n'] },
    { killDataSourceWhitelist: ['\ud83d'] },
    { cloneServers: { 'a\0': 'b' } },
    { cloneServers: { a: 'b\u0007' } },
    { debugDimensions: { a: '\0' } },
  ]) {
    it(`rejects a name with a control character in ${JSON.stringify(change)}`, () =>
      assert.throws(() => readConfigChange(change, ''), {
        code: 'invalidInput',
        message: /control characters/,
      }))
  }

  it('rejects a server as its own clone', () => {
    assert.throws(
      () => readConfigChange({ cloneServers: { a: 'b', c: 'c' } }, ''),
      /cloneServers.*other than itself/,
    )
  })

  it('delays marking overshadowed segments only if configured', () => {
    assert.equal(overshadowedWaitMs(readCoordinatorConfig(undefined)), 0)
    assert.equal(overshadowedWaitMs(readCoordinatorConfig({ value: '{"millisToWaitBeforeDeleting":5}' })), 5)
    assert.equal(overshadowedWaitMs(readCoordinatorConfig(undefined), true), 900_000)
  })
})
