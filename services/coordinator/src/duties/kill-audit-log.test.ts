import assert from 'node:assert/strict'
import { after, beforeEach, describe, it } from 'node:test'
import { acquireLease, saveAudit, sql } from '@svc/shared/postgres'
import { createTestContext, createTestStores, loadAudit } from '@svc/shared/testing'
import { killAuditLog } from './index.ts'

const stores = await createTestStores({ after })
const { database } = stores
const dayMs = 86_400_000
const now = Date.UTC(2026, 5, 15)

beforeEach(async () => {
  for (const table of [sql`audit`, sql`compaction_history`, sql`leader_leases`])
    await database.query(sql`DELETE FROM ${table}`)
  const candidate = { role: 'coordinator', holder: 'h', node: 'n', baseUrl: 'u' }
  await acquireLease(database, candidate, 60_000)
})

async function writeDaysAgo(...daysAgo: number[]): Promise<void> {
  for (const days of daysAgo) {
    const author = { author: 'ann', comment: String(days), identity: 'admin', ip: '127.0.0.1' }
    await saveAudit(database, { type: 'rules', key: 'k', ...author, payload: '[]' }, now - days * dayMs)
    await database.query(sql`
      INSERT INTO compaction_history (datasource, of_supervisor, global_config, author, comment, identity, ip, created_at)
      VALUES ('wiki', false, '{}', 'ann', ${String(days)}, 'admin', '', to_timestamp(${now / 1000 - days * 86_400}))`)
  }
}

async function runDuty(properties: Record<string, string> = {}, term = 1, isLeader = true) {
  const context = await createTestContext({ after }, stores, 'coordinator', properties)
  return await killAuditLog({ ...context, clock: { now: () => now } }, database, () => isLeader).run(term)
}
const kept = async () => ({
  audit: (await loadAudit(database, { type: 'rules' })).map(({ comment }) => Number(comment)),
  history: (
    await database.query<{ comment: string }>(sql`SELECT comment FROM compaction_history ORDER BY id`)
  ).map(({ comment }) => Number(comment)),
})
const all = [400, 91, 90, 89, 1, 0]

describe('audit entries', () => {
  it('are kept for 90 days unless another duration is set', async () => {
    await writeDaysAgo(...all)
    assert.deepEqual(await runDuty(), { erasedAuditEntries: 4 })
    assert.deepEqual(await kept(), { audit: [90, 89, 1, 0], history: [90, 89, 1, 0] })
    assert.equal(await runDuty(), undefined)
    await runDuty({ 'svc.coordinator.kill.audit.durationToRetain': 'P1D' })
    assert.deepEqual(await kept(), { audit: [1, 0], history: [1, 0] })
  })

  it('are deleted in batches until none is left', async () => {
    await writeDaysAgo(1)
    await database.query(sql`
      INSERT INTO audit (type, key, author, comment, identity, ip, payload, created_at)
      SELECT 'rules', 'k', '', n::text, '', '', '', to_timestamp(n) FROM generate_series(1, 3500) n`)
    assert.deepEqual(await runDuty(), { erasedAuditEntries: 3500 })
    assert.deepEqual(await kept(), { audit: [1], history: [1] })
  })

  it('are not deleted by a former leader', async () => {
    await writeDaysAgo(...all)
    await assert.rejects(runDuty({}, 2), /no longer the \[\w+\] leader/)
    assert.equal(await runDuty({}, 1, false), undefined)
    assert.deepEqual(await kept(), { audit: all, history: all })
  })
})
