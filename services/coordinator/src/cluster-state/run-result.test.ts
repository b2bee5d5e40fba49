import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shortageSentences, shortagesOf } from './index.ts'

test('shortages are listed for the first 20 tiers, and counted for the others', () => {
  const tiers = (count: number) => new Map(Array.from({ length: count }, (_, index) => [`t${index}`, 2]))
  const all = shortagesOf({
    unplaced: () => [],
    tiersWithoutServers: () => tiers(23),
    tiersWithTooFewServers: () => tiers(20),
  })
  const shortages = shortageSentences(all)
  assert.equal(shortages.length, 41)
  assert.equal(shortages[19], 'Tier [t19] has no servers for 2 replicas')
  assert.equal(shortages[20], 'Other tiers that have no servers: 3')
  assert.match(shortages[40]!, /^Tier \[t19\] has too few servers/)
})
