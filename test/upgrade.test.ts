// Proves that a home of an earlier version goes on with this one: its metadata store is brought back to an earlier
// schema with the same rows, and the next start keeps rules, users, segments, tasks and audit.
import assert from 'node:assert/strict'
import path from 'node:path'
import { after, before, describe, test } from 'node:test'
import { commonPropertiesFile, pickPortOffset, startCluster } from '@svc/cli/cluster'
import { loadSettings } from '@svc/shared/config'
import {
  createDatabase,
  type Database,
  isSchemaCurrent,
  knownMigrations,
  migrateSchema,
  sql,
} from '@svc/shared/postgres'
import { flights, flightsTask, runTask } from './support/flights.ts'
import { createHttpClient, type HttpClient } from './support/http-client.ts'
import { sqlRows } from './support/sql.ts'
import { newTestFolder, removeTestFolder } from './support/test-folder.ts'
import { waitUntil } from './support/wait-until.ts'

const folder = newTestFolder()
after(() => removeTestFolder(folder))
const home = path.join(folder, 'home')
const rules = [{ type: 'loadForever', tieredReplicants: { _default_tier: 1 }, useDefaultTierForNull: true }]
const authentication = '/svc-ext/basic-security/authentication/db/MyBasicMetadataAuthenticator'
const authorization = '/svc-ext/basic-security/authorization/db/MyBasicMetadataAuthorizer'
const reader = 'reader:a-password-of-tests'
const readFlights = [{ resource: { type: 'DATASOURCE', name: flights.dataSource }, action: 'READ' }]
const taskId = 'task-of-before'

/** Starts the home, lets `work` ask its router and its coordinator as admin, and stops it. */
async function withCluster(
  work: (router: HttpClient, coordinator: HttpClient) => Promise<void>,
): Promise<void> {
  const cluster = await startCluster({ home, portOffset: await pickPortOffset(), profile: 'secure' })
  try {
    const access = { trusted: cluster.trusted, credentials: `admin:${cluster.adminPassword}` }
    const router = createHttpClient(cluster.routerUrl, access)
    const coordinator = createHttpClient(cluster.urls.coordinator!, access)
    try {
      await work(router, coordinator)
    } finally {
      await Promise.all([router.close(), coordinator.close()])
    }
  } finally {
    await cluster.stop()
  }
}

/** Starts the stores of the home alone, and stops them. */
async function withStore(work: (store: Database) => Promise<void>): Promise<void> {
  const stores = await startCluster({
    home,
    portOffset: await pickPortOffset(),
    profile: 'plain',
    storesOnly: true,
  })
  try {
    const settings = loadSettings('coordinator', [commonPropertiesFile(stores.home)], {})
    const store = createDatabase(settings, { connections: 1, applicationName: 'test' })
    try {
      await work(store)
    } finally {
      await store.close()
    }
  } finally {
    await stores.stop()
  }
}

/** What a version knows of is kept of these, those first that others refer to. */
const keptTables = [
  'segments',
  'rules',
  'dynamic_configs',
  'audit',
  'tasks',
  'authentication_users',
  'authorization_users',
  'authorization_roles',
  'authorization_user_roles',
  'security_initialized',
]

/** Makes the store one of the first `count` migrations, with the rows that it has now. */
async function bringBack(store: Database, count: number): Promise<void> {
  const table = (name: string) => sql([`"${name}"`])
  const rows = new Map<string, string>()
  for (const name of keptTables) {
    const [found] = await store.query<{ rows: string }>(
      sql`SELECT coalesce(json_agg(t), '[]')::text AS rows FROM ${table(name)} t`,
    )
    rows.set(name, found!.rows)
  }
  await store.query(sql`DROP SCHEMA public CASCADE`)
  await store.query(sql`CREATE SCHEMA public`)
  await migrateSchema(store, count)
  assert.equal(await isSchemaCurrent(store), false)
  for (const name of keptTables) {
    await store.query(sql`
      INSERT INTO ${table(name)} OVERRIDING SYSTEM VALUE
      SELECT * FROM json_populate_recordset(NULL::${table(name)}, ${rows.get(name)})`)
  }
  // Before there was a permission of its own for it, administrators changed users and roles by one for everything.
  if (count < knownMigrations().indexOf('0006_security-audit') + 1) {
    await store.query(sql`
      UPDATE authorization_roles SET permissions = (
        SELECT json_agg(p) FROM json_array_elements(permissions) p WHERE p #>> '{resource,name}' <> 'security')
      WHERE name = 'admin'`)
  }
}

before(() =>
  withCluster(async (router, coordinator) => {
    await router.post(`/svc/coordinator/v1/rules/${flights.dataSource}`, rules, {
      'X-Svc-Comment': 'of before',
    })
    const task = { ...flightsTask({ segmentGranularity: 'MONTH' }), id: taskId }
    assert.equal(await runTask(router, task), taskId)
    await coordinator.post(`${authentication}/users/reader`, undefined)
    await coordinator.post(`${authentication}/users/reader/credentials`, { password: reader.split(':')[1] })
    await coordinator.post(`${authorization}/users/reader`, undefined)
    await coordinator.post(`${authorization}/roles/reader`, undefined)
    await coordinator.post(`${authorization}/roles/reader/permissions`, readFlights)
    await coordinator.post(`${authorization}/users/reader/roles/reader`, undefined)
  }),
)

const migrations = knownMigrations()
for (const count of [1, migrations.length - 1]) {
  describe(`a home whose last migration is ${migrations[count - 1]}`, () => {
    before(() => withStore((store) => bringBack(store, count)))

    test('keeps rules, users, segments, tasks and audit', async () => {
      await withCluster(async (router, coordinator) => {
        const rulesPath = `/svc/coordinator/v1/rules/${flights.dataSource}`
        assert.deepEqual(await router.get(rulesPath), rules)
        const history = await router.get<{ auditInfo: { comment: string } }[]>(`${rulesPath}/history`)
        assert.deepEqual(
          history.map(({ auditInfo }) => auditInfo.comment),
          ['of before'],
        )
        const { status } = await router.get<{ status: { statusCode: string } }>(
          `/svc/indexer/v1/task/${taskId}/status`,
        )
        assert.equal(status.statusCode, 'SUCCESS')
        await waitUntil(
          'every segment is loaded and answers',
          () => sqlRows(router, `SELECT count(*) FROM ${flights.dataSource}`),
          ([row]) => row?.[0] === flights.rows,
        )
        const asReader = await router.send({ path: rulesPath, credentials: reader })
        assert.equal(asReader.status, 200)
        const elsewhere = await router.send({ path: '/svc/coordinator/v1/rules/other', credentials: reader })
        assert.equal(elsewhere.status, 403)
        // The administrator still may change users, by a permission that did not exist then.
        await coordinator.post(`${authorization}/roles/of-now-${count}`, undefined)
      })
    })
  })
}
