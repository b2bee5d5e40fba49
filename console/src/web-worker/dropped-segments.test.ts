import assert from 'node:assert/strict'
import { test } from 'node:test'
import { finish } from '@svc/domain/steps'
import { compactIds, droppedSegmentsIn, droppedSegmentsOf, SegmentIds } from './dropped-segments.ts'

const dayMs = 86_400_000

test('composes the ids of the segments that rules drop, a few at a time', () => {
  const segments = {
    start: (index: number) => index * dayMs,
    end: (index: number) => (index + 1) * dayMs,
    version: (index: number) => (index < 2 ? 'v1' : 'v2'),
    partitionNum: (index: number) => index % 2,
  }
  const outcome = {
    datasources: [
      {
        segments,
        columns: { dataSource: 'wiki', indexes: Uint32Array.of(3, 2, 1, 0) },
        stretches: [
          { from: 0, to: 1, rule: 0 },
          { from: 1, to: 3, rule: 1 },
          { from: 3, to: 4, rule: 1 },
        ],
        targetOf: (rule: number) => ({ action: rule === 1 ? 'drop' : 'load' }),
      },
    ],
  } as never
  const ids = new SegmentIds(finish(droppedSegmentsOf(outcome, 'wiki')))
  assert.equal(ids.length, 3)
  assert.deepEqual(ids.slice(0, 2), [
    'wiki_1970-01-03T00:00:00.000Z_1970-01-04T00:00:00.000Z_v2',
    'wiki_1970-01-02T00:00:00.000Z_1970-01-03T00:00:00.000Z_v1_1',
  ])
  assert.deepEqual(ids.slice(2, 5000), ['wiki_1970-01-01T00:00:00.000Z_1970-01-02T00:00:00.000Z_v1'])
  assert.equal(new SegmentIds(finish(droppedSegmentsOf(outcome, 'other'))).length, 0)
})

test('composes the ids of the segments that the coordinator drops', () => {
  const row = (day: number, action: string, overshadowed = false) => ({
    dataSource: 'wiki',
    interval: `2026-01-0${day}/P1D`,
    version: `v${day}`,
    partitionNum: day,
    overshadowed,
    action,
  })
  const rows = [row(1, 'drop'), row(2, 'load'), row(3, 'drop', true), row(4, 'drop')]
  const ids = new SegmentIds(droppedSegmentsIn('wiki', rows as never))
  assert.deepEqual(ids.slice(0, ids.length), [
    'wiki_2026-01-01T00:00:00.000Z_2026-01-02T00:00:00.000Z_v1_1',
    'wiki_2026-01-04T00:00:00.000Z_2026-01-05T00:00:00.000Z_v4_4',
  ])
})

test('keeps ids in a compact form, or as they are if they cannot be parsed', () => {
  const ids = [
    'wiki_2026-01-01T00:00:00.000Z_2026-01-02T00:00:00.000Z_v1',
    'wiki_2026-01-01T00:00:00.000Z_2026-01-02T00:00:00.000Z_v1_7',
    'wiki_2026-01-02T00:00:00.000Z_2026-01-03T00:00:00.000Z_v2_1',
  ]
  const compact = compactIds('wiki', ids)
  assert.ok(compact instanceof SegmentIds)
  assert.deepEqual(compact.slice(0, compact.length), ids)
  const other = [...ids, 'wiki_sometime']
  assert.equal(compactIds('wiki', other), other)
})
