import assert from 'node:assert/strict'
import { test } from 'node:test'
import { missingReplicasText } from './missing-replicas.ts'

const textOf = (unplaced: number, waiting: number, lacking: number): string | undefined =>
  missingReplicasText({
    doesNotFit: { copies: unplaced },
    waitingForTier: { copies: waiting, tiers: ['hott', 'x'].slice(0, waiting) },
    underReplicated: { copies: lacking },
  })

test('says nothing if every replica is where the rules require it', () => {
  assert.equal(textOf(0, 0, 0), undefined)
})

test('says why replicas are missing, even if a tier has fewer servers than replicas', () => {
  assert.equal(textOf(12, 1, 13), '12 do not fit and 1 waits for servers in tier [hott]')
  assert.equal(textOf(0, 2, 2), '2 wait for servers in tiers [hott, x]')
  assert.equal(textOf(0, 0, 780), '780 would need more servers in their tiers')
  // Segments without any replica are not under-replicated.
  assert.equal(textOf(1, 0, 0), '1 does not fit')
})
