import assert from 'node:assert/strict'
import { after, beforeEach, describe, it } from 'node:test'
import { loadClusterTime, sql } from '../postgres/index.ts'
import { createTestStores, fc, loadAudit, recordingLogger, waitUntil } from '../testing/index.ts'
import { createSimulatedClock, decideClockChange, readClockChange } from './index.ts'

const stores = await createTestStores({ after })
const { database } = stores
const logger = recordingLogger()
const audit = { author: 'ann', comment: 'a test', identity: 'admin', ip: '::1' }
const dayMs = 86_400_000
const later = Date.UTC(2100, 0, 1)

beforeEach(async () => {
  await database.query(sql`DELETE FROM cluster_clock`)
  await database.query(sql`DELETE FROM audit`)
})

/** A started clock like that of a server; stopped at the end of the test. */
async function startedClock(scope: { after(end: () => Promise<void>): void }) {
  const clock = createSimulatedClock(stores.connect(2), logger)
  await clock.start()
  scope.after(() => clock.stop())
  return clock
}
const change = (json: object) => readClockChange(json, '')

describe('the cluster clock', () => {
  it('shows real time until it is changed', async (context) => {
    const clock = await startedClock(context)
    const before = Date.now()
    assert.ok(Math.abs(clock.now() - before) < 60_000)
    assert.equal(clock.rate(), 1)
  })

  it('is the same on every server after a change, and after a restart', async (context) => {
    const [first, second] = [await startedClock(context), await startedClock(context)]
    await first.move(change({ now: new Date(later).toISOString(), rate: 0 }), audit)
    assert.equal(first.now(), later)
    await waitUntil('the other server follows', () => second.now() === later)
    assert.equal((await startedClock(context)).now(), later)
    await second.move(change({ advance: 'P30D' }), audit)
    await waitUntil('the first server follows', () => first.now() === later + 30 * dayMs)
    assert.deepEqual(await loadClusterTime(database), { time: later + 30 * dayMs, rate: 0 })
  })

  it('advances at its rate', async (context) => {
    const clock = await startedClock(context)
    await clock.move(change({ now: new Date(later).toISOString(), rate: 3600 }), audit)
    await waitUntil('an hour has passed', () => clock.now() > later + 3_600_000)
    await clock.move(change({ rate: 0 }), audit)
    const stopped = clock.now()
    await clock.refresh()
    assert.equal(clock.now(), stopped)
    assert.ok(stopped > later + 3_600_000)
  })

  it('writes an audit entry for each change, at the new time', async (context) => {
    const clock = await startedClock(context)
    const now = new Date(later).toISOString()
    await clock.move(change({ now, rate: 0 }), audit)
    const [entry] = await loadAudit(database, { type: 'simulation.clock', count: 9 })
    assert.equal(entry?.createdAt, later)
    assert.equal(entry?.author, 'ann')
    assert.deepEqual(JSON.parse(entry?.payload ?? ''), { now, rate: 0 })
  })

  it('does not move when a change is rejected', async (context) => {
    const clock = await startedClock(context)
    await clock.move(change({ now: new Date(later).toISOString(), rate: 0 }), audit)
    await assert.rejects(
      () => clock.move(change({ now: '2099-12-31T23:59:59.999Z' }), audit),
      /Invalid value \[2099-12-31T23:59:59.999Z\] for \[now\]: expected a time between the current time \[2100-01-01T00:00:00.000Z\].*cannot go backward/,
    )
    await clock.refresh()
    assert.equal(clock.now(), later)
    assert.equal((await loadAudit(database, { type: 'simulation.clock', count: 9 })).length, 1)
  })

  it('applies concurrent changes one after the other', async (context) => {
    const clocks = await Promise.all(Array.from({ length: 4 }, () => startedClock(context)))
    await clocks[0]!.move(change({ now: new Date(later).toISOString(), rate: 0 }), audit)
    await Promise.all(clocks.map((clock) => clock.move(change({ advance: 'P1D' }), audit)))
    assert.equal((await loadClusterTime(database)).time, later + 4 * dayMs)
  })

  it('keeps running while the metadata store is unavailable', async (context) => {
    const connection = stores.connect(2)
    const clock = createSimulatedClock(connection, logger)
    await clock.start()
    context.after(() => clock.stop())
    await clock.move(change({ now: new Date(later).toISOString(), rate: 1000 }), audit)
    await connection.close()
    const seen = clock.now()
    await waitUntil('time passes', () => clock.now() > seen + 1000)
  })
})

describe('a clock change', () => {
  it('never moves the clock back', () => {
    const time = fc.integer({ min: 0, max: later })
    const rate = fc.double({ min: 0, max: 86_400, noNaN: true })
    const requestSchema = fc.record(
      { now: fc.oneof(time, fc.constant(undefined)), rate: fc.oneof(rate, fc.constant(undefined)) },
      { requiredKeys: ['now', 'rate'] },
    )
    fc.assert(
      fc.property(time, rate, requestSchema, (present, pace, { now, rate: newRate }) => {
        try {
          const next = decideClockChange(
            { now, advance: undefined, rate: newRate },
            { time: present, rate: pace },
          )
          assert.ok(next.time >= present)
          assert.equal(next.rate, newRate ?? pace)
        } catch (error) {
          assert.ok(now !== undefined && now < present, String(error))
        }
      }),
    )
  })

  const refused: [json: unknown, message: RegExp][] = [
    [{}, /is empty/],
    [{ now: '2026-01-01', advance: 'P1D' }, /Invalid value \[P1D\] for \[advance\]: expected either/],
    [{ now: 'soon' }, /Invalid value \[soon\] for \[now\]/],
    [{ advance: '-P1D' }, /Invalid value \[-P1D\] for \[advance\]/],
    [{ rate: -1 }, /Invalid value \[-1\] for \[rate\]: expected a number from 0 to 86400/],
    [{ rate: 86_401 }, /Invalid value \[86401\] for \[rate\]/],
    [{ rate: '1' }, /Invalid value \[1\] for \[rate\]/],
    [{ speed: 1 }, /Unknown field \[speed\]/],
    [[], /^Failure: Invalid value \[\[\]\] for \[body\]: expected/],
  ]
  for (const [json, message] of refused) {
    it(`rejects ${JSON.stringify(json)}`, () => assert.throws(() => readClockChange(json, ''), message))
  }

  it('does not move the clock past the year 9999', () => {
    for (const json of [
      { now: '+010000-01-01T00:00:00Z' },
      { advance: 'P8000Y' },
      { advance: 'P999999999Y' },
    ])
      assert.throws(() => decideClockChange(change(json), { time: later, rate: 1 }), /9999-12-31/)
  })
})
