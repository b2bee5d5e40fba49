import assert from 'node:assert/strict'
import { after, beforeEach, describe, it, type TestContext } from 'node:test'
import { forbidden, unauthorized } from '@svc/domain/failure'
import { internal, route } from '../http/index.ts'
import { acquireLease, addRole, changeSecurity, createDatabase, sql } from '../postgres/index.ts'
import type { SecurityDirectory } from '../security/index.ts'
import {
  createTestContext,
  createTestStores,
  recordingLogger,
  startTcpGate,
  waitUntil,
} from '../testing/index.ts'
import {
  directoryPath,
  followCoordinatorDirectory,
  followStoredDirectory,
  openDirectory,
} from './directory-source.ts'

const stores = await createTestStores({ after })
const { database } = stores
const audit = { key: '', author: '', comment: '', identity: '', ip: '', payload: null }
let roles = 0
/** Changes users or roles. Returns the name of the new role. */
async function change(): Promise<string> {
  const role = `role${roles++}`
  await changeSecurity(database, audit, 0, async (transaction) => {
    await addRole(transaction, 'Z', role)
  })
  return role
}
const rolesOf = (current: ReturnType<ReturnType<typeof openDirectory>['current']>) =>
  'missing' in current ? [] : Object.keys(current.authorizers.Z?.roles ?? {})

describe('the directory of a cluster without logins', () => {
  it('is available immediately, and empty', async () => {
    const directory = openDirectory()
    await directory.loaded
    assert.deepEqual(directory.current(), { version: 0, authenticators: {}, authorizers: {} })
  })
})

describe('the directory of the metadata store', () => {
  it('is available from the start, and shows every change', async (scope) => {
    const before = await change()
    const directory = await followStoredDirectory(database, recordingLogger())
    scope.after(() => directory.stop())
    await directory.loaded
    assert.ok(rolesOf(directory.current()).includes(before))
    let changes = 0
    const stopListening = directory.onChange(() => changes++)
    const next = await change()
    await waitUntil('the change', () => rolesOf(directory.current()).includes(next))
    await waitUntil('the listener was called', () => changes === 1)
    stopListening()
    const last = await change()
    await waitUntil('the next change', () => rolesOf(directory.current()).includes(last))
    assert.equal(changes, 1)
  })

  it('shows a change of its server to the next request', async (scope) => {
    const directory = await followStoredDirectory(database, recordingLogger())
    scope.after(() => directory.stop())
    for (let round = 0; round < 20; round++) {
      const role = await change()
      await directory.refresh()
      assert.ok(rolesOf(directory.current()).includes(role))
    }
  })

  it('never goes back to an older version', async (scope) => {
    const directory = await followStoredDirectory(database, recordingLogger())
    scope.after(() => directory.stop())
    const versions: number[] = []
    directory.onChange(() => {
      const current = directory.current()
      versions.push('missing' in current ? -1 : current.version)
    })
    await Promise.all(
      Array.from({ length: 10 }, async () => {
        await change()
        await Promise.all([directory.refresh(), directory.refresh()])
      }),
    )
    assert.deepEqual(
      versions,
      versions.toSorted((a, b) => a - b),
    )
  })

  it('shows changes made while its connection was broken', async (scope) => {
    const settings = stores.settings('coordinator')
    const gate = await startTcpGate(scope, settings.get('svc.metadata.storage.connector.port'))
    const gated = createDatabase(
      stores.settings('coordinator', { 'svc.metadata.storage.connector.port': String(gate.port) }),
      { connections: 2, applicationName: 'gated' },
    )
    const directory = await followStoredDirectory(gated, recordingLogger())
    scope.after(async () => {
      await directory.stop()
      await gated.close()
    })
    await gate.cut()
    const role = await change()
    await gate.reconnect()
    await waitUntil('the change', () => rolesOf(directory.current()).includes(role))
  })
})

describe('the directory of the coordinator', () => {
  beforeEach(() => database.query(sql`DELETE FROM leader_leases`))

  const directoryOf = (version: number): SecurityDirectory => ({
    version,
    authenticators: {},
    authorizers: { Z: { users: {}, roles: { [`role of ${version}`]: [] }, groupMappings: {} } },
  })

  /** A leader that delays its response until there is a newer version. */
  async function startLeader(scope: TestContext) {
    const context = await createTestContext(scope, stores, 'coordinator')
    const requested: string[] = []
    const state: { version: number; failure: Error | undefined; wake: () => void } = {
      version: 1,
      failure: undefined,
      wake: () => undefined,
    }
    await context.serve({
      routes: [
        route({
          answers: [],
          method: 'GET',
          path: directoryPath,
          access: internal,
          summary: '',
          handle: async ({ query }) => {
            const { version } = query as { version: string }
            requested.push(version)
            if (state.failure) throw state.failure
            if (Number(version) === state.version) {
              await new Promise<void>((resolve) => {
                state.wake = resolve
              })
            }
            return { directory: Number(version) === state.version ? null : directoryOf(state.version) }
          },
        }),
      ],
    })
    const { name } = context.node()
    await acquireLease(
      database,
      { role: 'coordinator', holder: name, node: name, baseUrl: `http://${name}` },
      600_000,
    )
    return { requested, state, url: `http://${name}` }
  }

  async function follow(scope: TestContext) {
    const context = await createTestContext(scope, stores, 'historical')
    const directory = followCoordinatorDirectory(context)
    scope.after(() => directory.stop())
    return { context, directory }
  }

  it('is missing until the coordinator returns it, and then shows every change', async (scope) => {
    const { context, directory } = await follow(scope)
    const missing = directory.current()
    assert.ok('missing' in missing && /have not been fetched from the coordinator yet/.test(missing.missing))
    await waitUntil('the problem', () => context.readiness.troubles() !== '')
    const { state, requested } = await startLeader(scope)
    await directory.loaded
    assert.deepEqual(directory.current(), directoryOf(1))
    await waitUntil('it requests the next version', () => requested.at(-1) === '1')
    assert.equal(context.readiness.troubles(), '')
    state.version = 2
    state.wake()
    await waitUntil('the change', () => rolesOf(directory.current())[0] === 'role of 2')
    await waitUntil('it requests the next version', () => requested.at(-1) === '2')
    state.wake()
    await waitUntil(
      'it asks again when nothing has changed',
      () => requested.filter((version) => version === '2').length === 2,
    )
    assert.deepEqual(directory.current(), directoryOf(2))
  })

  it('is kept while the coordinator fails, which is reported once with its cause', async (scope) => {
    const { state, requested, url } = await startLeader(scope)
    const { context, directory } = await follow(scope)
    await directory.loaded
    await waitUntil('it requests the next version', () => requested.at(-1) === '1')
    state.failure = unauthorized('no')
    state.wake()
    const cause = `Coordinator [${url}] rejected the escalator credentials of user [svc_system]. Correct [svc.escalator.internalClientPassword] on this server, or allow this server's address in [svc.auth.internalClientAllowedNetworks] on the coordinator`
    await waitUntil('the problem', () => context.readiness.troubles() === cause)
    assert.equal(context.logger.having(cause).length, 1)
    assert.deepEqual(directory.current(), directoryOf(1))
    state.failure = forbidden('no')
    await waitUntil('the other problem', () =>
      /svc\.escalator\.internalClientUsername/.test(context.readiness.troubles()),
    )
    let changes = 0
    directory.onChange(() => changes++)
    state.failure = undefined
    await waitUntil(
      'the problem is over, although nothing has changed',
      () => context.readiness.troubles() === '',
    )
    assert.deepEqual([directory.current(), changes], [directoryOf(1), 0])
    await waitUntil('it requests the next version', () => requested.at(-1) === '1')
    state.version = 3
    state.wake()
    await waitUntil('the change', () => rolesOf(directory.current())[0] === 'role of 3')
    assert.equal(context.logger.having('Resumed fetching users and roles from the coordinator').length, 1)
  })

  it('can be stopped while it waits', async (scope) => {
    const { requested } = await startLeader(scope)
    const { directory, context } = await follow(scope)
    await directory.loaded
    await waitUntil('it requests the next version', () => requested.at(-1) === '1')
    await directory.stop()
    assert.equal(context.readiness.troubles(), '')
    assert.deepEqual(
      context.logger.lines.filter(({ level }) => level === 'warn'),
      [],
    )
  })
})
