import assert from 'node:assert/strict'
import { test } from 'node:test'
import { segmentId } from '@svc/domain/segment'
import { type AnsweredServer, viewOf } from './cluster-view.ts'
import { demoDays } from './steps.ts'

const days = demoDays(Date.UTC(2001, 3, 1)).slice(0, 3)
const idOf = (day: number, dataSource = 'flights') =>
  segmentId({ dataSource, interval: days[day]!, version: '2026-01-01T00:00:00.000Z', partitionNum: 0 })

const server = (host: string, tier: string, type = 'historical'): AnsweredServer => ({ host, tier, type })
const segmentsOf = (...identifiers: string[]) => identifiers.map((identifier) => ({ identifier, size: 10 }))

test('counts copies by tier and day from the answers of servers', () => {
  const answers = {
    servers: [
      server('a:1', 'hot'),
      server('b:1', 'hot'),
      server('c:1', '_default_tier'),
      server('d:1', '_default_tier', 'broker'),
    ],
    segments: new Map([
      ['a:1', segmentsOf(idOf(0), idOf(2))],
      ['b:1', segmentsOf(idOf(2), idOf(1, 'others'), 'flights', 'flights_x_y_z')],
      ['c:1', segmentsOf(idOf(1))],
    ]),
    queues: {
      'a:1': { segmentsToLoad: 2, segmentsToDrop: 0 },
      'c:1': { segmentsToLoad: 1, segmentsToDrop: 4 },
    },
    loadedPercent: 50,
    deepStorage: { files: 3, sizeBytes: 300 },
  }
  assert.deepEqual(viewOf(answers, 'flights', days, ['hot', '_default_tier', 'cold']), {
    tiers: [
      { tier: 'hot', servers: 2, copiesByDay: [1, 0, 2], sizeBytes: 60 },
      { tier: '_default_tier', servers: 1, copiesByDay: [0, 1, 0], sizeBytes: 10 },
      { tier: 'cold', servers: 0, copiesByDay: [0, 0, 0], sizeBytes: 0 },
    ],
    queuedLoads: 3,
    queuedDrops: 4,
    loadedPercent: 50,
    deepStorage: { files: 3, sizeBytes: 300 },
  })
})
