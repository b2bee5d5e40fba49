import assert from 'node:assert/strict'
import { after, beforeEach, describe, it } from 'node:test'
import { createDatabase, loadSecurityEvents, type SecurityEventType, sql } from '../postgres/index.ts'
import type { Caller } from '../security/index.ts'
import {
  createTestStores,
  recordingLogger,
  type Scope,
  startTcpGate,
  testCaller,
  waitUntil,
} from '../testing/index.ts'
import { startSecurityAudit } from './security-audit.ts'

const { database, settings } = await createTestStores({ after })

const caller = (identity: string, mayAdminister = true): Caller =>
  testCaller(() => mayAdminister, { identity, authenticator: 'A' })
const at = (address: string) => ({ address, server: '' })
const wrong = { reason: 'WRONG_PASSWORD', because: 'Wrong password' } as const
const throttled = { reason: 'TOO_MANY_FAILURES', because: 'Too many failures' } as const
const refusal = {
  identity: '',
  address: '10.0.0.1',
  method: 'GET',
  path: '/',
  message: 'missing',
  requestId: 'r1',
}
/** The administrators in the mixed logins: every tenth login. */
const byTens = (users: number) =>
  Array.from({ length: users / 10 - 1 }, (_, index) => `user ${10 * (index + 1)}`)

/** Returns the number of recorded logins by user and address during a test. */
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

describe('uses of a cached login of an administrator', () => {
  it('are recorded once per address in ten minutes', async () => {
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

  it('are recorded only for administrators, and for servers once per address', async () => {
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

  it('are recorded again rather than lost if there are too many to remember', async () => {
    const counts = await writtenDown((audit) => {
      audit.used(caller('admin'), at('10.0.0.1'))
      for (let user = 0; user < 10_000; user++) audit.used(caller(`user ${user}`, false), at('10.0.0.1'))
      audit.used(caller('admin'), at('10.0.0.1'))
    })
    assert.deepEqual(counts, { 'admin from 10.0.0.1': 2 })
  })
})

interface Written {
  readonly key: string
  readonly identity: string
  readonly ip: string
  readonly count: number
  readonly others?: true
  readonly escaped?: true
  readonly typed?: string
  readonly requestId?: string
}

const startAudit = (on: typeof database, now: () => number = Date.now, logger = recordingLogger()) =>
  startSecurityAudit(on, { now }, logger, { server: () => 'router', internalUser: 'svc_system' })

async function storedEvents(type: SecurityEventType): Promise<Written[]> {
  const stored = await loadSecurityEvents(database, { types: [type], count: 100_000 })
  return stored.map(({ key, identity, ip, payload }) => {
    const { server: _server, ...details } = JSON.parse(payload)
    return { key, identity, ip, ...details }
  })
}

const countRows = async () =>
  Number((await database.query<{ rows: number }>(sql`SELECT count(*) AS rows FROM audit`))[0]?.rows)

const sumOf = (events: readonly Written[]) => events.reduce((sum, { count }) => sum + count, 0)

describe('rejected logins', () => {
  beforeEach(() => database.query(sql`DELETE FROM audit`))

  it('are all recorded by name, even next to names that cannot be stored', async () => {
    const audit = startAudit(database)
    const hostile = ['a\0', '\0', 'x\ud83d', `${'y'.repeat(255)}🐨`, `${'z'.repeat(5000)}\0`, '\udcff']
    for (let victim = 0; victim < 10; victim++) {
      audit.loginFailed(`victim ${victim}`, at('10.0.0.1'), `victim ${victim}`, wrong)
      for (const name of hostile) audit.loginFailed(`${victim}${name}`, at('10.0.0.\0'), undefined, wrong)
      audit.loginFailed('victim', { address: '10.0.0.1', server: `\0${victim}` }, undefined, wrong)
    }
    await audit.stop()
    const events = await storedEvents('security.loginFailure')
    for (let victim = 0; victim < 10; victim++) {
      const found = events.filter(({ key }) => key === `victim ${victim}`)
      const expected = { key: `victim ${victim}`, identity: '', ip: '10.0.0.1', count: 1, ...wrong }
      assert.deepEqual(found, [expected])
    }
    assert.equal(sumOf(events), 80)
    assert.deepEqual(
      events.find(({ key }) => key === '3a\\u0000'),
      { key: '3a\\u0000', identity: '', ip: '10.0.0.\\u0000', count: 1, ...wrong, escaped: true },
    )
    for (const { key } of events)
      assert.ok(key.length <= 256 && key.isWellFormed() && !key.includes('\0'), key)
  })

  it('of existing users are all recorded among 10,000 mixed logins, and every rejected login is counted', async () => {
    let nowMs = Date.UTC(2026, 0)
    const audit = startAudit(database, () => nowMs)
    const expected = new Map<string, number>()
    const began = performance.now()
    let writtenRows = 0
    for (let login = 0; login < 10_000; login++) {
      nowMs += 1
      switch (login % 5) {
        case 0:
          audit.loggedIn(caller(`user ${login % 300}`, login % 2 === 0), at('10.0.0.1'))
          break
        case 1: {
          const user = `user ${login % 300}`
          const address = `10.0.0.${login % 7}`
          expected.set(`${user} from ${address}`, (expected.get(`${user} from ${address}`) ?? 0) + 1)
          audit.loginFailed(user, at(address), user, wrong)
          break
        }
        case 2:
          audit.loginFailed(`user ${login % 300}\0`, at(`10.0.0.${login % 7}`), undefined, wrong)
          break
        case 3:
          audit.loginFailed(`nobody ${login}`, at(`10.0.${login % 256}.1`), undefined, wrong)
          break
        default:
          audit.forbidden({ ...refusal, identity: 'mallory', path: `/svc/\0${login}` })
      }
      if (login % 1000 === 0) {
        const before = writtenRows
        writtenRows = await waitUntil('another batch is written', countRows, (rows) => rows > before)
      }
    }
    await audit.stop()
    assert.ok(performance.now() - began < 20_000)
    const failures = await storedEvents('security.loginFailure')
    const found = new Map<string, number>()
    for (const { key, ip, count } of failures) {
      const name = `${key} from ${ip}`
      if (/^user \d+$/.test(key)) found.set(name, (found.get(name) ?? 0) + count)
    }
    assert.deepEqual(new Map([...found].sort()), new Map([...expected].sort()))
    assert.equal(sumOf(failures), 6000)
    assert.ok(failures.length < expected.size * 2 + 200, `${failures.length} entries`)
    const forbidden = await storedEvents('security.forbidden')
    assert.equal(sumOf(forbidden), 2000)
    assert.ok(forbidden.every(({ identity }) => identity === 'mallory') && forbidden.length < 100)
    const administrators = new Set((await storedEvents('security.login')).map(({ identity }) => identity))
    assert.deepEqual([...administrators].sort(), ['user 0', ...byTens(300)].sort())
  })

  it('of one user from very many addresses are counted under its name', async () => {
    const audit = startAudit(database, () => Date.UTC(2026, 0))
    for (let guess = 0; guess < 10_000; guess++) {
      audit.loginFailed('nobody', at(`10.1.${guess >> 8}.${guess & 255}`), undefined, wrong)
      audit.loginFailed('admin', at(`10.0.${guess >> 8}.${guess & 255}`), 'admin', wrong)
    }
    await audit.stop()
    const events = await storedEvents('security.loginFailure')
    assert.deepEqual(
      events
        .filter(({ others }) => others)
        .map(({ key, count }) => [key, count])
        .sort(),
      [
        ['', 9940],
        ['admin', 9940],
      ],
    )
    assert.equal(events.length, 122)
  })

  it('of a directory user are recorded under its name, whatever was typed', async () => {
    const audit = startAudit(database)
    for (const typed of ['alice', 'ALICE', 'Alice ']) audit.loginFailed(typed, at('10.0.0.1'), 'alice', wrong)
    await audit.stop()
    assert.deepEqual(await storedEvents('security.loginFailure'), [
      { key: 'alice', identity: '', ip: '10.0.0.1', count: 3, ...wrong, typed: 'Alice ' },
    ])
  })

  it('have the ID of the last request, and one entry for each reason', async () => {
    const audit = startAudit(database)
    const [unknown, overload] = ['UNKNOWN_USER', 'TOO_MANY_LOGINS'] as const
    for (const [requestId, reason] of [
      ['r1', unknown],
      ['r2', unknown],
      ['r3', overload],
    ] as const)
      audit.loginFailed('bob', { ...at('10.0.0.1'), requestId }, undefined, {
        reason,
        because: `For ${reason}`,
      })
    audit.forbidden(refusal)
    await audit.stop()
    const bob = { key: 'bob', identity: '', ip: '10.0.0.1' }
    assert.deepEqual(
      (await storedEvents('security.loginFailure')).sort((one, other) => one.count - other.count),
      [
        { ...bob, requestId: 'r3', reason: overload, because: `For ${overload}`, unverified: true, count: 1 },
        { ...bob, requestId: 'r2', reason: unknown, because: `For ${unknown}`, count: 2 },
      ],
    )
    const [forbidden] = await storedEvents('security.forbidden')
    assert.equal(forbidden?.requestId, 'r1')
  })

  it('that were throttled have entries of their own', async () => {
    const audit = startAudit(database)
    for (const isThrottled of [false, true, false, true, true])
      audit.loginFailed('alice', at('10.0.0.1'), 'alice', isThrottled ? throttled : wrong)
    await audit.stop()
    const events = await storedEvents('security.loginFailure')
    assert.deepEqual(
      events.sort((one, other) => Number(one.count) - Number(other.count)),
      [
        { key: 'alice', identity: '', ip: '10.0.0.1', count: 2, ...wrong },
        { key: 'alice', identity: '', ip: '10.0.0.1', count: 3, ...throttled, throttled: true },
      ],
    )
  })
})

describe('the audit log while the store is unavailable', () => {
  const gatedDatabase = async (scope: Scope) => {
    const gate = await startTcpGate(scope, settings('router').get('svc.metadata.storage.connector.port'))
    const gated = createDatabase(
      settings('router', { 'svc.metadata.storage.connector.port': String(gate.port) }),
      { connections: 1, applicationName: 'gated' },
    )
    scope.after(() => gated.close())
    return { gate, gated }
  }

  it('keeps every event by name, and writes it when the store is back', async (scope) => {
    await database.query(sql`DELETE FROM audit`)
    const { gate, gated } = await gatedDatabase(scope)
    const logger = recordingLogger()
    const audit = startAudit(gated, Date.now, logger)
    await gate.cut()
    for (let victim = 0; victim < 3000; victim++)
      audit.loginFailed(`victim ${victim}`, at('10.0.0.1'), `victim ${victim}`, wrong)
    await waitUntil('a write has failed', async () => logger.lines.some(({ level }) => level === 'warn'))
    audit.loginFailed('victim 7', at('10.0.0.1'), 'victim 7', wrong)
    await gate.reconnect()
    const events = await waitUntil(
      'all events are written',
      () => storedEvents('security.loginFailure'),
      (written) => sumOf(written) === 3001,
    )
    assert.equal(new Set(events.map(({ key }) => key)).size, 3000)
    await audit.stop()
  })

  it('still stops, and reports the number of lost events', async (scope) => {
    const { gate, gated } = await gatedDatabase(scope)
    const logger = recordingLogger()
    const audit = startAudit(gated, Date.now, logger)
    await gate.cut()
    for (const user of ['a', 'b', 'b']) audit.loginFailed(user, at('10.0.0.1'), user, wrong)
    await audit.stop()
    assert.deepEqual(
      logger.lines.filter(({ level }) => level === 'error').map(({ details }) => details),
      [{ events: 3 }],
    )
  })
})
