import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { saveHeartbeat, saveServerProblem, sql } from '@svc/shared/postgres'
import { createTestContext, createTestStores, httpRequest } from '@svc/shared/testing'
import { serverProblemsRoute } from './server-problems.ts'

test('servers that report a problem are not ready, and those without heartbeats are missing', async () => {
  const stores = await createTestStores({ after })
  const context = await createTestContext({ after }, stores, 'coordinator')
  const { database } = context
  await context.serve({ routes: [serverProblemsRoute(context)] })
  const problems = async () =>
    (await httpRequest(context.port, { path: '/svc/coordinator/v1/serverProblems' })).json
  assert.deepEqual(await problems(), [])
  const broker = { ...context.node(), role: 'broker', name: 'broker:8082' } as const
  await saveHeartbeat(database, broker)
  await saveServerProblem(database, {
    role: 'historical',
    name: 'hot:8083',
    problem: 'The certificate has expired',
  })
  const expired = {
    role: 'historical',
    server: 'hot:8083',
    state: 'notReady',
    problem: 'The certificate has expired',
  }
  assert.deepEqual(await problems(), [expired])
  await database.query(
    sql`UPDATE nodes SET heartbeat_at = now() - interval '45 seconds' WHERE name = ${broker.name}`,
  )
  const missing = {
    role: 'broker',
    server: 'broker:8082',
    state: 'missing',
    problem: 'No heartbeat for 45 s',
  }
  assert.deepEqual(await problems(), [expired, missing])
})
