import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Failure } from '../../failure/index.ts'
import { compactionSlots } from '../slots.ts'
import {
  assertNoNewZeroSlots,
  clusterConfigOf,
  defaultClusterConfig,
  formatClusterConfig,
  parseClusterConfig,
} from './index.ts'

const defaults = {
  compactionTaskSlotRatio: 0.1,
  maxCompactionTaskSlots: 2_147_483_647,
  compactionPolicy: { type: 'newestSegmentFirst' },
  useSupervisors: false,
  engine: 'native',
  storeCompactionStatePerSegment: true,
}
const fragmented = {
  type: 'mostFragmentedFirst',
  minUncompactedCount: 100,
  minUncompactedBytes: 10_485_760,
  maxAverageUncompactedBytesPerSegment: 2_147_483_648,
  minUncompactedBytesPercentForFullCompaction: 0,
  minUncompactedRowsPercentForFullCompaction: 0,
}

describe('the cluster compaction configuration', () => {
  const accepted: readonly [given: object, shown: object][] = [
    [{}, {}],
    [{ compactionTaskSlotRatio: 0.5 }, { compactionTaskSlotRatio: 0.5 }],
    [
      { compactionTaskSlotRatio: 0, maxCompactionTaskSlots: 1 },
      { compactionTaskSlotRatio: 0, maxCompactionTaskSlots: 1 },
    ],
    [
      { useSupervisors: true, engine: 'msq' },
      { useSupervisors: true, engine: 'msq' },
    ],
    [{ storeCompactionStatePerSegment: false }, { storeCompactionStatePerSegment: false }],
    [{ compactionPolicy: { type: 'newestSegmentFirst', priorityDatasource: '' } }, {}],
    [
      { compactionPolicy: { type: 'newestSegmentFirst', priorityDatasource: 'a' } },
      { compactionPolicy: { type: 'newestSegmentFirst', priorityDatasource: 'a' } },
    ],
    [{ compactionPolicy: { type: 'mostFragmentedFirst' } }, { compactionPolicy: fragmented }],
    [
      {
        compactionPolicy: {
          type: 'mostFragmentedFirst',
          minUncompactedBytes: '5 MiB',
          maxAverageUncompactedBytesPerSegment: '100M',
        },
      },
      {
        compactionPolicy: {
          ...fragmented,
          minUncompactedBytes: 5_242_880,
          maxAverageUncompactedBytesPerSegment: 100_000_000,
        },
      },
    ],
    [
      {
        compactionPolicy: {
          type: 'fixedIntervalOrder',
          eligibleCandidates: [{ datasource: 'a', interval: '2026-10-01/2026-10-02' }],
        },
      },
      {
        compactionPolicy: {
          type: 'fixedIntervalOrder',
          eligibleCandidates: [
            { datasource: 'a', interval: '2026-10-01T00:00:00.000Z/2026-10-02T00:00:00.000Z' },
          ],
        },
      },
    ],
  ]
  for (const [given, shown] of accepted) {
    it(`accepts ${JSON.stringify(given)}`, () => {
      const once = formatClusterConfig(parseClusterConfig(given))
      assert.deepEqual(once, { ...defaults, ...shown })
      assert.deepEqual(formatClusterConfig(clusterConfigOf(JSON.stringify(once))), once)
    })
  }

  it('uses the defaults if nothing is stored', () =>
    assert.equal(clusterConfigOf(undefined), defaultClusterConfig))

  it('may keep 0 slots, because Druid 37 accepts 0, but may not change to 0', () => {
    const stored = clusterConfigOf('{"maxCompactionTaskSlots":0}')
    assert.deepEqual(stored, { ...defaultClusterConfig, maxCompactionTaskSlots: 0 })
    assert.equal(compactionSlots(stored, 40), 0)
    assertNoNewZeroSlots({ ...stored, compactionTaskSlotRatio: 0.5 }, stored)
    assertNoNewZeroSlots(defaultClusterConfig, stored)
    assert.throws(() => assertNoNewZeroSlots(stored, defaultClusterConfig), {
      code: 'invalidInput',
      message: /^Invalid value \[0\] for \[maxCompactionTaskSlots\]: expected/,
    })
  })

  const policy = (given: object) => ({ compactionPolicy: given })
  const refused: readonly [given: unknown, field: string][] = [
    [null, 'body'],
    [[], 'body'],
    [{ colour: 'red' }, 'colour'],
    [{ compactionTaskSlotRatio: 2 }, 'compactionTaskSlotRatio'],
    [{ compactionTaskSlotRatio: -0.1 }, 'compactionTaskSlotRatio'],
    [{ compactionTaskSlotRatio: '0.1' }, 'compactionTaskSlotRatio'],
    [{ maxCompactionTaskSlots: -1 }, 'maxCompactionTaskSlots'],
    [{ maxCompactionTaskSlots: 2_147_483_648 }, 'maxCompactionTaskSlots'],
    [{ engine: 'msq' }, 'engine'],
    [{ engine: 'msq', useSupervisors: false }, 'engine'],
    [{ useSupervisors: 'yes' }, 'useSupervisors'],
    [policy({}), 'compactionPolicy.type'],
    [policy({ type: 'randomOrder' }), 'compactionPolicy.type'],
    [{ compactionPolicy: 'newestSegmentFirst' }, 'compactionPolicy'],
    [policy({ type: 'newestSegmentFirst', minUncompactedCount: 1 }), 'compactionPolicy.minUncompactedCount'],
    [policy({ type: 'mostFragmentedFirst', minUncompactedCount: 0 }), 'compactionPolicy.minUncompactedCount'],
    [
      policy({ type: 'mostFragmentedFirst', minUncompactedBytes: 'lots' }),
      'compactionPolicy.minUncompactedBytes',
    ],
    [
      policy({ type: 'mostFragmentedFirst', minUncompactedBytes: -1 }),
      'compactionPolicy.minUncompactedBytes',
    ],
    [
      policy({ type: 'mostFragmentedFirst', minUncompactedBytesPercentForFullCompaction: 101 }),
      'compactionPolicy.minUncompactedBytesPercentForFullCompaction',
    ],
    [
      policy({ type: 'mostFragmentedFirst', minUncompactedRowsPercentForFullCompaction: -1 }),
      'compactionPolicy.minUncompactedRowsPercentForFullCompaction',
    ],
    [policy({ type: 'fixedIntervalOrder' }), 'compactionPolicy.eligibleCandidates'],
    [
      policy({ type: 'fixedIntervalOrder', eligibleCandidates: [{ datasource: 'a', interval: 'x' }] }),
      'compactionPolicy.eligibleCandidates[0].interval',
    ],
    [
      policy({
        type: 'fixedIntervalOrder',
        eligibleCandidates: [{ dataSource: 'a', interval: '2026/2027' }],
      }),
      'compactionPolicy.eligibleCandidates[0].dataSource',
    ],
  ]
  for (const [given, field] of refused) {
    it(`rejects ${JSON.stringify(given)}`, () => {
      assert.throws(
        () => parseClusterConfig(given),
        ({ code, message, context }: Failure) =>
          code === 'invalidInput' && context.field === field && /: expected /.test(message),
      )
    })
  }
})
