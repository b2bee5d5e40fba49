import assert from 'node:assert/strict'
import { test } from 'node:test'
import { finish } from '../steps/index.ts'
import { heldRunsOf } from './held-copies.ts'
import { columnsOf, type PreviewSegments } from './segments.ts'

const dayMs = 86_400_000

/** Two segments, the first of which is overshadowed, each with a replica on the first server. */
const segments: PreviewSegments = {
  dataSource: 'wiki',
  count: 2,
  start: () => 0,
  end: () => dayMs,
  sizeBytes: () => 10,
  version: (index) => `v${index}`,
  partitionNum: () => 0,
  isOvershadowed: (index) => index === 0,
  forEachCopy: (_, visit) => visit(0),
}

test('counts the replicas of visible and overshadowed segments', () => {
  const server = {
    name: 'a',
    type: 'historical',
    tier: 'hot',
    maxSizeBytes: 100,
    decommissioning: false,
  } as const
  const held = finish(heldRunsOf(segments, finish(columnsOf(segments)), [server]))
  assert.deepEqual(
    held.copies.map(({ byTier }) => [...byTier]),
    [[[0, 1]]],
  )
  assert.deepEqual(held.overshadowed.byTier, [{ segments: 1, copies: 1, bytes: 10 }])
})

test('counts no replicas without servers', () => {
  const held = finish(heldRunsOf(segments, finish(columnsOf(segments)), []))
  assert.deepEqual(
    held.copies.map(({ byTier }) => [...byTier]),
    [[]],
  )
  assert.deepEqual([held.overshadowed.byTier, held.overshadowed.onBrokers.copies], [[], 0])
})
