import assert from 'node:assert/strict'
import { after, beforeEach, describe, it } from 'node:test'
import { followFaults } from '@svc/shared/faults'
import { sql } from '@svc/shared/postgres'
import { createTestContext, createTestStores, httpRequest, loadAudit, waitUntil } from '@svc/shared/testing'
import { usersAndRolesPath } from '@svc/shared/users'
import type { ServerState } from '../inventory/index.ts'
import { faultRoutes } from './faults.ts'

const stores = await createTestStores({ after })
const { database } = stores
const on = { 'svc.simulation.enabled': 'true' }
const simulated = await createTestContext({ after }, stores, 'coordinator', on)
const real = await createTestContext({ after }, stores, 'coordinator')
let killed = 0
const self = simulated.node()
const faults = followFaults(
  database,
  simulated.logger,
  () => self,
  () => {
    killed += 1
  },
)
after(() => faults.stop())
const inventory = { servers: () => [{ name: '10.0.0.1:8083' } as ServerState] }
await simulated.serve({ routes: faultRoutes(simulated, inventory) })
await real.serve({ routes: faultRoutes(real, inventory) })

const request = (method: 'GET' | 'POST' | 'DELETE', rest = '', body?: object, port = simulated.port) =>
  httpRequest(port, {
    path: `/svc/simulation/v1/faults${rest}`,
    method,
    ...(body === undefined ? {} : { body }),
  })
const messageOf = (answer: { json: unknown }) => (answer.json as { errorMessage: string }).errorMessage
const listed = async () => (await request('GET')).json as { id: string; kind: string; until: string | null }[]

beforeEach(async () => {
  await database.query(sql`DELETE FROM dynamic_configs`)
})

describe('faults', () => {
  it('are rejected on a cluster that is not a simulation', async () => {
    for (const [method, body] of [
      ['GET', undefined],
      ['POST', { kind: 'cut', target: 'router' }],
      ['DELETE', undefined],
    ] as const) {
      const answer = await request(method, '', body, real.port)
      assert.equal(answer.status, 403)
      assert.match(messageOf(answer), /svc\.simulation\.enabled/)
    }
  })

  it('can be injected, listed, and cleared one by one or all at once, with an audit entry for each change', async () => {
    const ids: string[] = []
    for (const kind of ['latency', 'slow-disk', 'cut']) {
      const answer = await request('POST', '', { kind, target: 'historical', forMs: 60_000 })
      assert.equal(answer.status, 200, answer.text)
      ids.push((answer.json as { id: string }).id)
    }
    assert.deepEqual(
      (await listed()).map(({ id }) => id),
      ids,
    )
    assert.deepEqual((await request('DELETE', `/${ids[1]}`)).json, { cleared: 1 })
    const unknown = await request('DELETE', '/nothing')
    assert.equal(unknown.status, 404)
    assert.ok(messageOf(unknown).includes(`expected one of [${ids[0]}, ${ids[2]}]`))
    assert.deepEqual((await request('DELETE')).json, { cleared: 2 })
    assert.deepEqual(await listed(), [])
    assert.equal((await loadAudit(database, { type: 'simulation.faults' })).length, 5)
  })

  it('with an unknown target are rejected with the list of valid targets', async () => {
    const answer = await request('POST', '', { kind: 'kill', target: 'historical-9' })
    assert.equal(answer.status, 400)
    assert.match(messageOf(answer), /historical-9/)
    for (const name of ['router', 'historical', self.name, '10.0.0.1:8083'])
      assert.ok(messageOf(answer).includes(name))
    assert.deepEqual(await listed(), [])
  })

  it('end when their time is up', async () => {
    await request('POST', '', { kind: 'cut', target: 'router', forMs: 200 })
    await waitUntil('the fault has ended', listed, (found) => found.length === 0)
  })
})

describe('a server', () => {
  const path = '/svc/coordinator/v1/rules'

  it('drops requests while it is cut off, except those that clear the fault', async () => {
    await request('POST', '', { kind: 'cut', target: self.name })
    await waitUntil(
      'the server is cut off',
      () => faults.applyFaults(path),
      (faulty) => faulty === 'cut',
    )
    assert.equal(await faults.applyFaults('/svc/simulation/v1/faults'), undefined)
    assert.equal(await faults.applyFaults(usersAndRolesPath), undefined)
    await request('DELETE')
    await waitUntil(
      'the server is reachable again',
      () => faults.applyFaults(path),
      (faulty) => faulty === undefined,
    )
  })

  it('slows down its disk and its requests on demand', async () => {
    await request('POST', '', { kind: 'slow-disk', target: 'coordinator', delayMs: 70 })
    await waitUntil('its disk is slow', faults.diskDelayMs, (waitMs) => waitMs === 70)
    await request('POST', '', { kind: 'latency', target: 'coordinator', delayMs: 50 })
    await waitUntil('requests wait', async () => {
      const began = performance.now()
      await faults.applyFaults(path)
      return performance.now() - began >= 49
    })
    await request('DELETE')
    await waitUntil('its disk is fast again', faults.diskDelayMs, (waitMs) => waitMs === 0)
  })

  it('ignores faults of other roles', async () => {
    await request('POST', '', { kind: 'slow-disk', target: 'historical', delayMs: 70 })
    await request('POST', '', { kind: 'slow-disk', target: 'coordinator', delayMs: 7 })
    await waitUntil('its own fault is active', faults.diskDelayMs, (waitMs) => waitMs === 7)
  })

  const other = 'https://10.0.0.1:8083'
  const isCalled = (to = other, called = path) =>
    faults.applyToCall(to, called).then(
      () => true,
      () => false,
    )

  it('makes no calls while it is cut off, except those that clear the fault', async () => {
    await request('POST', '', { kind: 'cut', target: self.name })
    await waitUntil('its calls fail', async () => !(await isCalled()))
    assert.equal(await isCalled(other, '/svc/simulation/v1/faults/1'), true)
    assert.equal(await isCalled(other, `${usersAndRolesPath}?version=1`), true)
    await request('DELETE')
    await waitUntil('its calls succeed', () => isCalled())
  })

  it('is cut off from one other server, or calls it more slowly', async () => {
    const between = { target: '10.0.0.1:8083', from: self.name }
    const answer = await request('POST', '', { kind: 'cut', ...between })
    assert.equal(answer.status, 200, answer.text)
    assert.equal((answer.json as { from: string }).from, self.name)
    await waitUntil('its calls fail', async () => !(await isCalled()))
    assert.equal(await isCalled('https://10.0.0.2:8083'), true)
    assert.equal(await faults.applyFaults(path), undefined)
    assert.equal(faults.at('10.0.0.1:8083').isCut(), false)
    await request('DELETE')
    await request('POST', '', { kind: 'latency', delayMs: 50, ...between })
    await waitUntil('its calls wait', async () => {
      const began = performance.now()
      return (await isCalled()) && performance.now() - began >= 49
    })
  })

  it('can be the only one with a fault among several virtual servers in a process', async () => {
    const [faulty, other] = [faults.at('10.0.0.1:8083'), faults.at('10.0.0.2:8083')]
    const target = '10.0.0.1:8083'
    const deaths: string[] = []
    faults.onKill((name) => deaths.push(name))
    killed = 0
    for (const more of [
      { kind: 'cut' },
      { kind: 'latency', delayMs: 50 },
      { kind: 'slow-disk', delayMs: 7 },
      { kind: 'kill' },
    ]) {
      const answer = await request('POST', '', { ...more, target })
      assert.equal(answer.status, 200, answer.text)
    }
    await waitUntil('the server is killed', () => deaths.length > 0)
    assert.deepEqual([faulty.isCut(), faulty.requestDelayMs(), faulty.diskDelayMs()], [true, 50, 7])
    assert.deepEqual([other.isCut(), other.requestDelayMs(), other.diskDelayMs()], [false, 0, 0])
    assert.deepEqual([deaths, killed, await isCalled(), faults.diskDelayMs()], [[target], 0, true, 0])
  })

  it('is killed once or repeatedly for some time', async () => {
    killed = 0
    await request('POST', '', { kind: 'kill', target: 'coordinator' })
    await waitUntil('the server is killed', () => killed === 1)
    await request('POST', '', { kind: 'kill', target: 'coordinator', forMs: 60_000 })
    await waitUntil('the server is killed twice more', () => killed === 3)
  })
})
