import assert from 'node:assert/strict'
import { test } from 'node:test'
import { servedFigures } from './served-figures.ts'

test('figures without an inventory are those of served segments, at the time of the cluster', () => {
  const now = Date.UTC(2099, 0, 1)
  const figures = servedFigures(
    '1',
    now,
    ['wiki', 'idle'],
    [
      {
        name: 'wiki',
        properties: {
          tiers: { hot: { replicatedSize: 20 } },
          segments: {
            count: 3,
            size: 10,
            minTime: '2026-01-01T00:00:00.000Z',
            maxTime: '2026-01-02T00:00:00.000Z',
          },
        },
      },
    ],
  )
  assert.equal(figures.now, now)
  assert.equal(figures.isLocal, false)
  const [idle, wiki] = figures.datasources
  assert.deepEqual([idle!.name, idle!.segments, idle!.extent], ['idle', 0, undefined])
  assert.deepEqual(wiki, {
    name: 'wiki',
    segments: 3,
    bytes: 10,
    overshadowed: 0,
    extent: { start: Date.UTC(2026, 0, 1), end: Date.UTC(2026, 0, 2) },
    unserved: 0,
    underReplicated: 0,
    bytesByTier: { hot: 20 },
  })
})
