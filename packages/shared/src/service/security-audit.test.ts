import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { loadSecurityEvents, sql } from '../postgres/index.ts'
import type { Caller } from '../security/index.ts'
import { createTestStores, recordingLogger } from '../testing/index.ts'
import { startSecurityAudit } from './security-audit.ts'

const { database } = await createTestStores({ after })

const caller = (identity: string, mayAdminister = true): Caller => ({
  identity,
  authenticator: 'A',
  groups: [],
  compatibility: false,
  can: () => mayAdminister,
  sees: () => true,
})
const at = (address: string) => ({ address, server: '' })

/** What is written down of logins in the course of a test: how many of whom, from where. */
async function writtenDown(
  act: (audit: ReturnType<typeof startSecurityAudit>, pass: (ms: number) => void) => void,
): Promise<Record<string, number>> {
  await database.query(sql`DELETE FROM audit`)
  let nowMs = Date.UTC(2026, 0)
  const audit = startSecurityAudit(database, { now: () => nowMs }, recordingLogger(), {
    server: () => 'router',
    internalUser: 'svc_system',
  })
  act(audit, (ms) => {
    nowMs += ms
  })
  await audit.stop()
  const counts: Record<string, number> = {}
  for (const { identity, ip, payload } of await loadSecurityEvents(database, {
    types: ['security.login'],
    count: 100,
  })) {
    const key = `${identity} from ${ip}`
    counts[key] = (counts[key] ?? 0) + JSON.parse(payload).count
  }
  return counts
}

describe('uses of a remembered login of an administrator', () => {
  it('are written down once an address in ten minutes', async () => {
    const counts = await writtenDown((audit, pass) => {
      audit.loggedIn(caller('admin'), at('10.0.0.1'))
      for (let minute = 0; minute < 25; minute++) {
        for (let use = 0; use < 100; use++) audit.used(caller('admin'), at('10.0.0.1'))
        if (minute === 24) audit.used(caller('admin'), at('10.0.0.2'))
        pass(60_000)
      }
    })
    assert.deepEqual(counts, { 'admin from 10.0.0.1': 3, 'admin from 10.0.0.2': 1 })
  })

  it('are those of administrators only, and of the servers once an address', async () => {
    const counts = await writtenDown((audit, pass) => {
      for (let hour = 0; hour < 5; hour++) {
        audit.used(caller('ann', false), at('10.0.0.1'))
        audit.used(caller('svc_system'), at('10.0.0.1'))
        pass(3_600_000)
      }
      audit.used(caller('svc_system'), at('10.0.0.3'))
    })
    assert.deepEqual(counts, { 'svc_system from 10.0.0.1': 1, 'svc_system from 10.0.0.3': 1 })
  })

  it('are written down again rather than not at all when there are too many to keep in mind', async () => {
    const counts = await writtenDown((audit) => {
      audit.used(caller('admin'), at('10.0.0.1'))
      for (let user = 0; user < 10_000; user++) audit.used(caller(`user ${user}`, false), at('10.0.0.1'))
      audit.used(caller('admin'), at('10.0.0.1'))
    })
    assert.deepEqual(counts, { 'admin from 10.0.0.1': 2 })
  })
})
