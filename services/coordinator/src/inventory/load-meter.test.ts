import assert from 'node:assert/strict'
import { after, beforeEach, describe, it } from 'node:test'
import { loadLoadRates, sql } from '@svc/shared/postgres'
import { createTestStores, recordingLogger, waitUntil } from '@svc/shared/testing'
import { createLoadMeter } from './load-meter.ts'

const { database } = await createTestStores({ after })
const megabyte = 1_000_000

beforeEach(() => database.query(sql`DELETE FROM load_rates`))

/** Records loads of 1 MB that a server completes one after the other, in reports of one second. */
function noteLoads(meter: ReturnType<typeof createLoadMeter>, server: string, perSecond: number): void {
  const sentAtMs = 1000
  for (let second = 1; second <= 60; second += 1)
    for (let load = 0; load < perSecond; load += 1)
      meter.note({ server, sizeBytes: megabyte, sentAtMs, nowMs: sentAtMs + second * 1000 })
}

describe('the load meter', () => {
  it('measures the time of loads from the end of the last one, or from their request', () => {
    const meter = createLoadMeter(database, recordingLogger())
    assert.equal(meter.rateOf('one'), undefined)
    noteLoads(meter, 'one', 4)
    noteLoads(meter, 'two', 10)
    assert.equal(Math.round(meter.rateOf('one')!.msPerByte * megabyte), 250)
    assert.equal(Math.round(meter.rateOf('two')!.msPerByte * megabyte), 100)
    const { ms, segments, bytes } = meter.sumsOf('two')!
    assert.deepEqual([Math.round(segments / (ms / 1000)), Math.round(bytes / ms / 1000)], [10, 10])
    assert.equal(meter.sumsOf('three'), undefined)
    // Idle time does not count.
    meter.note({ server: 'one', sizeBytes: megabyte, sentAtMs: 500_000, nowMs: 500_250 })
    assert.equal(Math.round(meter.rateOf('one')!.msPerByte * megabyte), 250)
  })

  it('keeps what it measured for the next leader', async () => {
    const meter = createLoadMeter(database, recordingLogger())
    noteLoads(meter, 'one', 4)
    await meter.save()
    const next = createLoadMeter(database, recordingLogger())
    await next.restart()
    const [kept, measured] = [next.rateOf('one')!, meter.rateOf('one')!]
    assert.equal(kept.msPerSegment, measured.msPerSegment)
    // Both are sums of the same numbers, but not added in the same order.
    assert.ok(Math.abs(kept.msPerByte - measured.msPerByte) < 1e-12)
  })

  it('stores the last loads within 30 seconds, even if no others follow', async ({ mock }) => {
    mock.timers.enable({ apis: ['setTimeout'] })
    const meter = createLoadMeter(database, recordingLogger())
    meter.note({ server: 'last', sizeBytes: megabyte, sentAtMs: 1000, nowMs: 1250 })
    mock.timers.tick(30_000)
    mock.timers.reset()
    await waitUntil('the rate is stored', async () => (await loadLoadRates(database)).has('last'))
  })

  it('stores what it measured later if the store has failed', async ({ mock }) => {
    mock.timers.enable({ apis: ['setTimeout'] })
    const logger = recordingLogger()
    let failures = 1
    const stored: unknown[] = []
    const query = async (statement: unknown) => {
      failures -= 1
      if (failures >= 0) throw new Error('unavailable')
      stored.push(statement)
      return []
    }
    const meter = createLoadMeter({ query } as unknown as typeof database, logger)
    meter.note({ server: 'one', sizeBytes: megabyte, sentAtMs: 1000, nowMs: 1250 })
    await meter.save()
    assert.equal(logger.lines.at(-1)?.message, 'Failed to store load rates; retrying')
    mock.timers.tick(30_000)
    assert.equal(stored.length, 1)
  })
})
