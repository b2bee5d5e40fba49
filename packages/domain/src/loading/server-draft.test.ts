import assert from 'node:assert/strict'
import { test } from 'node:test'
import { areEqualServers, type LoadingServer } from './index.ts'

test('servers are equal if all of their fields are', () => {
  const server: LoadingServer = {
    number: 1,
    name: 'a',
    type: 'historical',
    tier: 'hot',
    maxSizeBytes: 100,
    usedSizeBytes: 10,
    loadingSizeBytes: 1,
    queuedLoads: 2,
    decommissioning: false,
  }
  assert.ok(areEqualServers(server, { ...server }))
  const others: Required<LoadingServer> = {
    number: 2,
    name: 'b',
    type: 'broker',
    tier: 'cold',
    maxSizeBytes: 200,
    usedSizeBytes: 20,
    loadingSizeBytes: 0,
    queuedLoads: 3,
    decommissioning: true,
  }
  for (const [field, other] of Object.entries(others))
    assert.ok(!areEqualServers(server, { ...server, [field]: other }), field)
})
