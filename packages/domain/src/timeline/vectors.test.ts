import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { formatInterval, parseInterval } from '../time/index.ts'
import { analyzeTimeline } from './index.ts'

interface RecordedTimeline {
  readonly segments: readonly {
    readonly interval: string
    readonly version: string
    readonly partitionNum: number
    readonly partitions: number
    readonly overshadowed: boolean
  }[]
  readonly visible: readonly {
    readonly interval: string
    readonly version: string
    readonly chunks: number
  }[]
}

test('every recorded timeline has the same visible segments as in Druid 37', () => {
  const file = new URL('../../../../test/fixtures/vectors/timeline.jsonl', import.meta.url)
  const lines = readFileSync(file, 'utf8').trim().split('\n')
  assert.equal(lines.length, 400)
  for (const line of lines) {
    const recorded = JSON.parse(line) as RecordedTimeline
    const segments = recorded.segments.map((segment) => ({
      ...segment,
      interval: parseInterval(segment.interval),
    }))
    const { overshadowed, visible } = analyzeTimeline(segments)
    assert.deepEqual(
      overshadowed,
      recorded.segments.map((segment) => segment.overshadowed),
      line,
    )
    const pieces = visible.map(({ interval, version, chunks }) => ({
      interval: formatInterval(interval),
      chunks,
      version,
    }))
    assert.deepEqual(pieces, recorded.visible, line)
  }
})
