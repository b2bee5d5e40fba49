import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { UnplacedReason } from '@svc/domain/loading'
import { shortageSentences, shortagesOf } from './index.ts'

test('shortages are listed for the first 20 tiers, and counted for the others', () => {
  const tiers = (count: number) => new Map(Array.from({ length: count }, (_, index) => [`t${index}`, 2]))
  const all = shortagesOf({
    unplaced: () => [],
    tiersWithoutServers: () => tiers(23),
    tiersWithTooFewServers: () => tiers(20),
    tiersWithoutActiveServers: () => tiers(1),
  })
  const shortages = shortageSentences(all)
  assert.equal(shortages.length, 42)
  assert.equal(shortages[19], 'Tier [t19] has no servers for 2 replicas')
  assert.equal(shortages[20], 'Other tiers that have no servers: 3')
  assert.equal(shortageSentences(all, () => undefined)[0], 'Tiers that have no servers: 23')
  assert.match(shortages[40]!, /^Tier \[t19\] has too few servers/)
  assert.equal(
    shortages[41],
    'Tier [t0] has only decommissioning servers, which load no segments; rules require 2 replicas there',
  )
})

test('shortages say what is missing in a tier: space, successful loads, queues, or an increase of the throttle', () => {
  const reasons: [reason: UnplacedReason, text: RegExp][] = [
    ['noRoom', /^Tier \[hot\] has no space for 2 replicas$/],
    ['loadFailed', /does not load 2 replicas because the servers that have space failed to load them$/],
    ['beingDropped', /loads 2 replicas once its servers have dropped their old copies$/],
    ['queueFull', /does not load 2 replicas yet because the load queues are full$/],
    [
      'replicationThrottled',
      /because each run assigns at most \[replicationThrottleLimit\] additional replicas in a tier$/,
    ],
  ]
  for (const [reason, text] of reasons) {
    const [shortage] = shortagesOf({
      unplaced: () => [{ tier: 'hot', reason, copies: 2, exampleRow: 0, minSizeBytes: 1 }],
      tiersWithoutServers: () => new Map(),
      tiersWithTooFewServers: () => new Map(),
      tiersWithoutActiveServers: () => new Map(),
    })
    assert.match(shortage!.text, text)
  }
})
