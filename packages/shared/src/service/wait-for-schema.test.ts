import assert from 'node:assert/strict'
import { test } from 'node:test'
import { unavailable } from '@svc/domain/failure'
import { type Database, isSchemaCurrent } from '../postgres/index.ts'
import { createReadiness, type Logger } from '../runtime/index.ts'
import { createTestStores, waitUntil } from '../testing/index.ts'
import type { ServiceContext } from './context.ts'
import { waitForSchema } from './wait-for-schema.ts'

const logger: Logger = {
  error: () => undefined,
  warn: () => undefined,
  info: () => undefined,
  debug: () => undefined,
}

function serverOf(role: string, database: Database, stopping = new AbortController().signal) {
  const settings = { role } as ServiceContext['settings']
  return { settings, database, logger, readiness: createReadiness(), stopping }
}

test('a server waits until a coordinator has created the tables', async (context) => {
  const { database } = await createTestStores(context, { isEmpty: true })
  const server = serverOf('historical', database)
  const waiting = waitForSchema(server)
  await waitUntil('the server waits', () =>
    server.readiness.problems().includes('Waiting for a coordinator to create the metadata tables'),
  )
  await waitForSchema(serverOf('coordinator', database))
  await waiting
  assert.equal(server.readiness.problems(), '')
  assert.equal(await isSchemaCurrent(database), true)
})

test('a server waits until the store is available', async (context) => {
  const { database } = await createTestStores(context)
  let failures = 3
  const query: Database['query'] = (statement) =>
    failures-- > 0 ? Promise.reject(unavailable('away')) : database.query(statement)
  const server = serverOf('historical', { ...database, query })
  const reported = new Set<string>()
  const setProblem: typeof server.readiness.setProblem = (key, text) => reported.add(`${key}: ${text}`)
  await waitForSchema({ ...server, readiness: { ...server.readiness, setProblem } })
  assert.deepEqual(
    [...reported],
    ['store: Cannot use the metadata store; see the log of this server', 'store: undefined'],
  )
})

test('a server that stops no longer waits', async (context) => {
  const { database } = await createTestStores(context, { isEmpty: true })
  const controller = new AbortController()
  const waiting = waitForSchema(serverOf('historical', database, controller.signal))
  controller.abort()
  await waiting
})
