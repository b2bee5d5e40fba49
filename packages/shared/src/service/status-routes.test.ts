import assert from 'node:assert/strict'
import { after, describe, it, type TestContext } from 'node:test'
import { removeNode } from '../postgres/index.ts'
import { createTestContext, createTestStores, httpRequest } from '../testing/index.ts'
import { statusRoutes } from './status-routes.ts'

const stores = await createTestStores({ after })

async function serve(scope: TestContext, properties: Record<string, string> = {}) {
  const context = await createTestContext(scope, stores, 'broker', properties)
  await context.serve({ routes: statusRoutes(context) })
  const get = (path: string) => httpRequest(context.port, { path })
  return { context, get }
}

describe('health', () => {
  it('is true once the server is ready, and remains true', async (scope) => {
    const { context, get } = await serve(scope)
    const before = await get('/status/health')
    assert.equal(before.status, 503)
    assert.equal((before.json as { errorMessage: string }).errorMessage, 'The server is starting')
    context.readiness.setProblem('store', 'The store is unavailable')
    assert.equal(
      ((await get('/status/health')).json as { errorMessage: string }).errorMessage,
      'The store is unavailable',
    )
    context.readiness.markReady()
    assert.equal((await get('/status/health')).text, 'true')
  })

  it('and readiness differ while there is a problem', async (scope) => {
    const { context, get } = await serve(scope)
    context.readiness.markReady()
    assert.equal((await get('/status/ready')).text, 'true')
    context.readiness.setProblem('report', 'Reports do not arrive')
    const ready = await get('/status/ready')
    assert.equal(ready.status, 503)
    assert.equal((ready.json as { errorMessage: string }).errorMessage, 'Reports do not arrive')
    assert.equal((await get('/status/health')).text, 'true')
  })
})

describe('the status', () => {
  it('has version and memory', async (scope) => {
    const { get } = await serve(scope)
    const { version, memory } = (await get('/status')).json as {
      version: string
      memory: Record<string, number>
    }
    assert.match(version, /^\d+\.\d+\.\d+$/)
    for (const name of ['maxMemory', 'totalMemory', 'freeMemory', 'usedMemory', 'directMemory'])
      assert.ok(Number.isInteger(memory[name]), name)
    assert.equal(memory.totalMemory, (memory.freeMemory ?? 0) + (memory.usedMemory ?? 0))
  })

  it('shows whether service discovery lists the server', async (scope) => {
    const { context, get } = await serve(scope)
    assert.deepEqual((await get('/status/selfDiscovered/status')).json, { selfDiscovered: true })
    const found = await get('/status/selfDiscovered')
    assert.deepEqual([found.status, found.text], [200, ''])
    await context.discovery.stop()
    await removeNode(context.database, context.node())
    await context.discovery.refresh()
    assert.deepEqual((await get('/status/selfDiscovered/status')).json, { selfDiscovered: false })
    assert.equal((await get('/status/selfDiscovered')).status, 503)
  })

  it('lists the properties without passwords', async (scope) => {
    const { context, get } = await serve(scope, {
      'svc.queue.redis.password': 'hunter2',
      'svc.server.tier': 'hot',
    })
    const answer = await get('/status/properties')
    const properties = answer.json as Record<string, string>
    assert.equal(properties['svc.server.tier'], 'hot')
    assert.equal(properties['svc.plaintextPort'], String(context.port))
    assert.doesNotMatch(answer.text, /hunter2|assword/)
  })

  it('shows whether users and roles are loaded', async (scope) => {
    const { get } = await serve(scope)
    for (const kind of ['authentication', 'authorization'])
      assert.deepEqual((await get(`/svc-ext/basic-security/${kind}/loadStatus`)).json, { allowAll: true })
  })
})
