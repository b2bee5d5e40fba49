import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { createSimulatedClock } from '@svc/shared/clock'
import { createDutyGroup } from '@svc/shared/duties'
import { createTestContext, createTestStores, httpRequest, waitUntil } from '@svc/shared/testing'
import { createSegmentInventory, followRules, ServerInventory } from '../inventory/index.ts'
import { clockAndDutyRunRoutes } from './clock-and-duty-runs.ts'

const stores = await createTestStores({ after })
const { database } = stores
const simulated = await createTestContext({ after }, stores, 'coordinator')
const real = await createTestContext({ after }, stores, 'coordinator')
const clock = createSimulatedClock(database, simulated.logger)
after(() => clock.stop())
const ranAt: number[] = []
const duties = [
  { name: 'lookAtTheClock', run: async () => ({ run: ranAt.push(clock.now()) }) },
  {
    name: 'fail',
    run: async () => {
      throw new Error('on purpose')
    },
  },
]
const group = createDutyGroup('SomeDuties', 3_600_000, duties, simulated.logger)
const other = createDutyGroup('OtherDuties', 3_600_000, [], simulated.logger)
after(() => Promise.all([group.stop(), other.stop()]))

before(async () => {
  await clock.start()
  const shared = {
    leadership: { term: () => 1 },
    segments: createSegmentInventory(database),
    servers: new ServerInventory(60_000),
    rules: followRules(database),
    dutyGroups: [group, other],
  }
  const context = { ...simulated, clock, simulatedClock: clock }
  await simulated.serve({ routes: clockAndDutyRunRoutes({ ...shared, context }) })
  await real.serve({ routes: clockAndDutyRunRoutes({ ...shared, context: real }) })
  group.start(1)
  other.start(1)
  await waitUntil('the first run has ended', () => ranAt.length === 1)
})

const request = (path: string, body?: unknown, port = simulated.port) =>
  httpRequest(port, {
    path: `/svc/simulation/v1/${path}`,
    ...(body === undefined ? {} : { method: 'POST', body }),
  })

describe('the clock', () => {
  it('can be shown and moved', async () => {
    const moved = await request('clock', { now: '2100-01-01T00:00:00Z', rate: 0 })
    assert.deepEqual([moved.status, moved.json], [200, { now: '2100-01-01T00:00:00.000Z', rate: 0 }])
    assert.deepEqual((await request('clock', { advance: 'P1M' })).json, {
      now: '2100-02-01T00:00:00.000Z',
      rate: 0,
    })
    assert.deepEqual((await request('clock')).json, { now: '2100-02-01T00:00:00.000Z', rate: 0 })
  })

  it('cannot be set back', async () => {
    const answer = await request('clock', { now: '2099-01-01T00:00:00Z' })
    assert.equal(answer.status, 400)
    assert.match(
      (answer.json as { errorMessage: string }).errorMessage,
      /\[2099-01-01T00:00:00\.000Z\] for \[now\]: expected .*cannot go backward/,
    )
  })

  it('is unavailable in a cluster that uses real time', async () => {
    for (const body of [undefined, { advance: 'P1D' }]) {
      const answer = await request('clock', body, real.port)
      assert.equal(answer.status, 403)
      assert.match((answer.json as { errorMessage: string }).errorMessage, /svc\.simulation\.clock\.enabled/)
    }
  })
})

describe('a run on demand', () => {
  interface Run {
    readonly now: string
    readonly groups: readonly {
      readonly name: string
      readonly duties: readonly {
        readonly duty: string
        readonly did: object | null
        readonly error: string | null
      }[]
    }[]
  }

  it('returns what each duty did after all duties have run', async () => {
    const moved = (await request('clock', { advance: 'P1D' })).json as { now: string }
    const answer = await request('run', {})
    assert.equal(answer.status, 200, answer.text)
    const { now, groups } = answer.json as Run
    assert.equal(now, moved.now)
    assert.equal(new Date(ranAt.at(-1) as number).toISOString(), now)
    assert.deepEqual(
      groups.map(({ name, duties: runs }) => [name, runs.map(({ duty, did, error }) => [duty, did, error])]),
      [
        [
          'SomeDuties',
          [
            ['lookAtTheClock', { run: ranAt.length }, null],
            ['fail', null, 'on purpose'],
          ],
        ],
        ['OtherDuties', []],
      ],
    )
  })

  it('can be limited to some groups, and concurrent requests run one after the other', async () => {
    const before = ranAt.length
    const answers = await Promise.all([1, 2, 3].map(() => request('run', { groups: ['SomeDuties'] })))
    for (const { json } of answers) assert.deepEqual((json as Run).groups.length, 1)
    assert.equal(ranAt.length, before + 3)
    assert.equal((await request('run', { groups: ['NoDuties'] })).status, 400)
  })
})
