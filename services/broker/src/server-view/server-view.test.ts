import assert from 'node:assert/strict'
import { after, beforeEach, describe, it, type TestContext } from 'node:test'
import { removeNode, sql } from '@svc/shared/postgres'
import { type DataServer, ServedSegments, servedSegmentsRoute } from '@svc/shared/segment-serving'
import { createTestContext, createTestStores, waitUntil } from '@svc/shared/testing'
import { createServerView } from './index.ts'

const stores = await createTestStores({ after })
beforeEach(() => stores.database.query(sql`DELETE FROM nodes`))

/** Starts a historical that serves the given segments. */
async function startHistorical(scope: TestContext, ...ids: string[]) {
  const context = await createTestContext(scope, stores, 'historical', {
    'svc.discovery.heartbeatPeriod': 'PT0.1S',
  })
  const life = { served: new ServedSegments() }
  for (const id of ids) life.served.add(id)
  const server = {
    get served() {
      return life.served
    },
  } as DataServer
  const serve = () =>
    context.serve({
      routes: [
        {
          ...servedSegmentsRoute(server, context),
          handle: (input) => servedSegmentsRoute(server, context).handle(input),
        },
      ],
    })
  await serve()
  return {
    context,
    name: context.node().name,
    served: () => life.served,
    serve,
    restart: (...others: string[]) => {
      life.served = new ServedSegments()
      for (const id of others) life.served.add(id)
    },
    leave: async () => {
      await context.discovery.stop()
      await removeNode(stores.database, context.node())
    },
  }
}

async function startView(scope: TestContext) {
  const context = await createTestContext(scope, stores, 'broker', {
    'svc.discovery.heartbeatPeriod': 'PT0.1S',
    'svc.discovery.timeout': 'PT30S',
  })
  const view = createServerView(context)
  view.start()
  scope.after(() => {
    context.beginToStop()
    return view.stop()
  })
  await waitUntil('the view is initialized', view.isInitialized)
  const serving = (id: string) =>
    view
      .serversOf(id)
      .map(({ name }) => name)
      .sort()
      .join()
  return { context, view, serving }
}

describe('the view of served segments', () => {
  it('is initialized immediately if there is no historical', async (scope) => {
    const { view } = await startView(scope)
    assert.equal(view.segmentCount(), 0)
  })

  it('knows which historicals serve each segment', async (scope) => {
    const a = await startHistorical(scope, 's', 't')
    const b = await startHistorical(scope, 't', 'u')
    const { view, serving } = await startView(scope)
    await waitUntil('both are known', () => view.segmentCount() === 3)
    assert.equal(serving('s'), a.name)
    assert.equal(serving('t'), [a.name, b.name].sort().join())
    assert.equal(serving('nothing'), '')
  })

  it('follows loads and drops within a second', async (scope) => {
    const a = await startHistorical(scope, 's')
    const { view, serving } = await startView(scope)
    await waitUntil('it is known', () => view.segmentCount() === 1)
    for (let round = 0; round < 20; round++) {
      a.served().add(`t${round}`)
      if (round > 0) a.served().remove(`t${round - 1}`)
      await waitUntil(
        'the change',
        () => serving(`t${round}`) === a.name && view.segmentCount() === 2,
        Boolean,
        { timeoutMs: 1000, pollMs: 10 },
      )
    }
  })

  it('starts over with a restarted historical', async (scope) => {
    const a = await startHistorical(scope, 's', 't')
    const { view, serving } = await startView(scope)
    await waitUntil('it is known', () => view.segmentCount() === 2)
    a.served().add('wakes the follower')
    a.restart('u')
    await waitUntil('the restart is known', () => serving('u') === a.name)
    a.served().add('v')
    await waitUntil(
      'changes after the restart are known',
      () => serving('v') === a.name && view.segmentCount() === 2,
    )
    assert.equal(serving('s'), '')
  })

  it('is initialized again once a new historical has reported its segments', async (scope) => {
    const { view, serving } = await startView(scope)
    const a = await startHistorical(scope, 's')
    await waitUntil('the new historical is known', () => serving('s') === a.name)
    assert.equal(view.isInitialized(), true)
  })

  it('forgets the segments of a historical that left', async (scope) => {
    const a = await startHistorical(scope, 's')
    const b = await startHistorical(scope, 's')
    const { view, serving } = await startView(scope)
    await waitUntil('both are known', () => serving('s').split(',').length === 2)
    await a.leave()
    await waitUntil('one has left', () => serving('s') === b.name)
    await b.leave()
    await waitUntil('the other has left too', () => view.segmentCount() === 0)
  })

  it('warns about a historical that does not respond, and keeps following the others', async (scope) => {
    const a = await startHistorical(scope, 's')
    const { context, serving, view } = await startView(scope)
    await waitUntil('it is known', () => serving('s') === a.name)
    const silent = await createTestContext(scope, stores, 'historical')
    await silent.discovery.announce(silent.node())
    const message = `Failed to get segment changes from historical [${silent.node().name}]`
    await waitUntil('the warning', () => context.logger.having(message).length === 1)
    assert.equal(view.isInitialized(), false)
    a.served().add('t')
    await waitUntil('the other is followed', () => serving('t') === a.name)
    assert.equal(context.logger.having(message).length, 1)
  })

  it('includes all earlier changes once it has caught up', async (scope) => {
    const a = await startHistorical(scope, 's')
    const { view, serving } = await startView(scope)
    await view.catchUp()
    for (let round = 0; round < 50; round++) {
      a.served().add(`t${round}`)
      await view.catchUp()
      assert.equal(serving(`t${round}`), a.name)
      a.served().remove(`t${round}`)
      await view.catchUp()
      assert.equal(serving(`t${round}`), '')
      assert.ok([...view.formerly()].includes(`t${round}`))
      assert.ok(!view.isLost(`t${round}`))
    }
    assert.equal(view.segmentCount(), 1)
    assert.deepEqual([...view.servedBy(a.name)], ['s'])
  })

  it('knows which segments are lost with a historical, and which come back', async (scope) => {
    const a = await startHistorical(scope, 's', 't')
    const b = await startHistorical(scope, 't')
    const { view, serving } = await startView(scope)
    await waitUntil('both are known', () => serving('t').split(',').length === 2)
    a.served().add('wakes the follower')
    a.restart('u')
    await waitUntil('the restart is known', () => serving('u') === a.name)
    assert.ok(view.isLost('s'))
    assert.ok(!view.isLost('t'))
    await b.leave()
    await waitUntil('the other has left', () => view.isLost('t'))
    // Depending on the timing of the restart, the view may or may not have seen the third segment.
    const formerly = [...view.formerly()].filter((id) => id !== 'wakes the follower')
    assert.deepEqual(formerly.sort(), ['s', 't'])
    a.served().add('t')
    await view.catchUp()
    assert.ok(!view.isLost('t'))
    assert.equal(serving('t'), a.name)
  })

  it('knows all segments that are lost with a large historical', async (scope) => {
    const ids = Array.from({ length: 100_001 }, (_, index) => `s${index}`)
    const large = await startHistorical(scope, ...ids)
    const { view } = await startView(scope)
    await waitUntil('all are known', () => view.segmentCount() === ids.length)
    await large.leave()
    await waitUntil('the historical has left', () => view.segmentCount() === 0)
    assert.ok(ids.every((id) => view.isLost(id)))
    view.forget('s0')
    assert.ok(!view.isLost('s0'))
  })
})
