import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { segmentId } from '../segment/index.ts'
import { parseInterval } from '../time/index.ts'
import { parseClusterConfig, parseCompactionConfig } from './config/index.ts'
import { type CompactionSegment, type CompactionState, describeCandidate, planCompaction } from './index.ts'

interface RecordedCompaction {
  readonly policy: unknown
  readonly configs: Readonly<Record<string, unknown>>
  readonly segments: readonly {
    readonly dataSource: string
    readonly interval: string
    readonly version: string
    readonly partitionNum: number
    readonly partitions: number
    readonly size: number
    readonly numRows: number
    readonly lastCompactionState: CompactionState | null
  }[]
  readonly candidates: readonly unknown[]
  readonly stats: Readonly<Record<string, unknown>>
}

test('plans the same candidates, order, and totals as Druid 37 in every recorded case', () => {
  const file = new URL('../../../../test/fixtures/vectors/compaction.jsonl', import.meta.url)
  const lines = readFileSync(file, 'utf8').trim().split('\n')
  assert.equal(lines.length, 442)
  for (const [index, line] of lines.entries()) {
    const recorded = JSON.parse(line) as RecordedCompaction
    const segments = recorded.segments.map((segment): CompactionSegment => {
      const key = { ...segment, interval: parseInterval(segment.interval) }
      return {
        id: segmentId(key),
        dataSource: key.dataSource,
        interval: key.interval,
        version: key.version,
        partitionNum: key.partitionNum,
        partitions: key.partitions,
        sizeBytes: segment.size,
        totalRows: segment.numRows,
        lastCompactionState: segment.lastCompactionState ?? undefined,
      }
    })
    const plan = planCompaction({
      cluster: parseClusterConfig({ compactionPolicy: recorded.policy }),
      configs: Object.values(recorded.configs).map((config) => parseCompactionConfig(config)),
      segmentsOf: (dataSource) => segments.filter((segment) => segment.dataSource === dataSource),
      locks: [],
      workerCapacity: 10,
    })
    const candidates = plan.candidates.map((candidate) => {
      // Druid 37 has no slots and reasons.
      const { slots: _, reason: __, ...described } = describeCandidate(candidate)
      return described
    })
    assert.deepEqual(candidates, recorded.candidates, `case ${index + 1}`)
    const stats = Object.fromEntries(
      [...plan.progress].map(([dataSource, { compacted, skipped }]) => [dataSource, { compacted, skipped }]),
    )
    assert.deepEqual(stats, recorded.stats, `case ${index + 1}`)
  }
})
