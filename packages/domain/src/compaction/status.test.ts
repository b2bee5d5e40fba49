import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { finish } from '../steps/index.ts'
import { parseClusterConfig, parseCompactionConfig } from './config/index.ts'
import { assemblePlan, describeIntervals, searchDatasource } from './index.ts'
import { testSegment } from './test-segments.ts'

describe('an interval that awaits compaction', () => {
  const config = parseCompactionConfig({ dataSource: 'wiki', skipOffsetFromLatest: 'PT0S' })
  const reasonWith = (cluster: object): readonly string[] => {
    const found = finish(searchDatasource(config, [testSegment('2026-01-01/P1D')], []))
    const plan = finish(assemblePlan(parseClusterConfig(cluster), 10, [found]))
    return describeIntervals(plan, found).awaiting.map(({ reason }) => reason)
  }
  const rows: readonly [name: string, cluster: object, reason: string][] = [
    ['has a reason', { compactionTaskSlotRatio: 1 }, 'not compacted yet'],
    [
      'has a reason that mentions missing task slots',
      { compactionTaskSlotRatio: 0 },
      'not compacted yet; compacting this interval needs at least [1] task slots, but compaction can use only [0]',
    ],
    [
      'has a reason that mentions an engine that needs more task slots',
      { engine: 'msq', useSupervisors: true, maxCompactionTaskSlots: 1, compactionTaskSlotRatio: 1 },
      'not compacted yet; compacting this interval needs at least [2] task slots, but compaction can use only [1]',
    ],
  ]
  for (const [name, cluster, reason] of rows) {
    it(name, () => assert.deepEqual(reasonWith(cluster), [reason]))
  }
})
