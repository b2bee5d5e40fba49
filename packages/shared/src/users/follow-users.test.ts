import assert from 'node:assert/strict'
import { after, beforeEach, describe, it, type TestContext } from 'node:test'
import { forbidden, unauthorized } from '@svc/domain/failure'
import { internal, route } from '../http/index.ts'
import { acquireLease, addRole, changeSecurity, createDatabase, sql } from '../postgres/index.ts'
import type { UsersAndRoles } from '../security/index.ts'
import {
  createTestContext,
  createTestStores,
  recordingLogger,
  startTcpGate,
  waitUntil,
} from '../testing/index.ts'
import { followCoordinatorUsers, followStoredUsers, noUsers, usersAndRolesPath } from './follow-users.ts'

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
const rolesOf = (current: ReturnType<ReturnType<typeof noUsers>['current']>) =>
  'missing' in current ? [] : Object.keys(current.authorizers.Z?.roles ?? {})

describe('the users and roles of a cluster without logins', () => {
  it('are available immediately, and empty', async () => {
    const users = noUsers()
    await users.loaded
    assert.deepEqual(users.current(), { version: 0, authenticators: {}, authorizers: {} })
  })
})

describe('the users and roles in the metadata store', () => {
  it('are available from the start, and show every change', async (scope) => {
    const before = await change()
    const users = await followStoredUsers(database, recordingLogger())
    scope.after(() => users.stop())
    await users.loaded
    assert.ok(rolesOf(users.current()).includes(before))
    let changes = 0
    const stopListening = users.onChange(() => changes++)
    const next = await change()
    await waitUntil('the change', () => rolesOf(users.current()).includes(next))
    await waitUntil('the listener was called', () => changes === 1)
    stopListening()
    const last = await change()
    await waitUntil('the next change', () => rolesOf(users.current()).includes(last))
    assert.equal(changes, 1)
  })

  it('show a change by this server to the next request', async (scope) => {
    const users = await followStoredUsers(database, recordingLogger())
    scope.after(() => users.stop())
    for (let round = 0; round < 20; round++) {
      const role = await change()
      await users.refresh()
      assert.ok(rolesOf(users.current()).includes(role))
    }
  })

  it('never go back to an older version', async (scope) => {
    const users = await followStoredUsers(database, recordingLogger())
    scope.after(() => users.stop())
    const versions: number[] = []
    users.onChange(() => {
      const current = users.current()
      versions.push('missing' in current ? -1 : current.version)
    })
    await Promise.all(
      Array.from({ length: 10 }, async () => {
        await change()
        await Promise.all([users.refresh(), users.refresh()])
      }),
    )
    assert.deepEqual(
      versions,
      versions.toSorted((a, b) => a - b),
    )
  })

  it('show changes made while the connection was broken', async (scope) => {
    const settings = stores.settings('coordinator')
    const gate = await startTcpGate(scope, settings.get('svc.metadata.storage.connector.port'))
    const gated = createDatabase(
      stores.settings('coordinator', { 'svc.metadata.storage.connector.port': String(gate.port) }),
      { connections: 2, applicationName: 'gated' },
    )
    const users = await followStoredUsers(gated, recordingLogger())
    scope.after(async () => {
      await users.stop()
      await gated.close()
    })
    await gate.cut()
    const role = await change()
    await gate.reconnect()
    await waitUntil('the change', () => rolesOf(users.current()).includes(role))
  })
})

describe('the users and roles of the coordinator', () => {
  beforeEach(() => database.query(sql`DELETE FROM leader_leases`))

  const versionWithRole = (version: number): UsersAndRoles => ({
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
          path: usersAndRolesPath,
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
            return { directory: Number(version) === state.version ? null : versionWithRole(state.version) }
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
    const users = followCoordinatorUsers(context)
    scope.after(() => users.stop())
    return { context, users }
  }

  it('are missing until the coordinator returns them, and then show every change', async (scope) => {
    const { context, users } = await follow(scope)
    const missing = users.current()
    assert.ok('missing' in missing && /have not been fetched from the coordinator yet/.test(missing.missing))
    await waitUntil('the problem', () => context.readiness.problems() !== '')
    const { state, requested } = await startLeader(scope)
    await users.loaded
    assert.deepEqual(users.current(), versionWithRole(1))
    await waitUntil('it requests the next version', () => requested.at(-1) === '1')
    assert.equal(context.readiness.problems(), '')
    state.version = 2
    state.wake()
    await waitUntil('the change', () => rolesOf(users.current())[0] === 'role of 2')
    await waitUntil('it requests the next version', () => requested.at(-1) === '2')
    state.wake()
    await waitUntil(
      'it asks again when nothing has changed',
      () => requested.filter((version) => version === '2').length === 2,
    )
    assert.deepEqual(users.current(), versionWithRole(2))
  })

  it('are kept while the coordinator fails, which is reported once with its cause', async (scope) => {
    const { state, requested, url } = await startLeader(scope)
    const { context, users } = await follow(scope)
    await users.loaded
    await waitUntil('it requests the next version', () => requested.at(-1) === '1')
    state.failure = unauthorized('no')
    state.wake()
    const cause = `Coordinator [${url}] rejected the escalator credentials of user [svc_system]. Correct [svc.escalator.internalClientPassword] on this server, or allow this server's address in [svc.auth.internalClientAllowedNetworks] on the coordinator`
    await waitUntil('the problem', () => context.readiness.problems() === cause)
    assert.equal(context.logger.having(cause).length, 1)
    assert.deepEqual(users.current(), versionWithRole(1))
    state.failure = forbidden('no')
    await waitUntil('the other problem', () =>
      /svc\.escalator\.internalClientUsername/.test(context.readiness.problems()),
    )
    let changes = 0
    users.onChange(() => changes++)
    state.failure = undefined
    await waitUntil(
      'the problem is over, although nothing has changed',
      () => context.readiness.problems() === '',
    )
    assert.deepEqual([users.current(), changes], [versionWithRole(1), 0])
    await waitUntil('it requests the next version', () => requested.at(-1) === '1')
    state.version = 3
    state.wake()
    await waitUntil('the change', () => rolesOf(users.current())[0] === 'role of 3')
    assert.equal(context.logger.having('Resumed fetching users and roles from the coordinator').length, 1)
  })

  it('are no longer followed after a stop', async (scope) => {
    const { requested } = await startLeader(scope)
    const { users, context } = await follow(scope)
    await users.loaded
    await waitUntil('it requests the next version', () => requested.at(-1) === '1')
    await users.stop()
    assert.equal(context.readiness.problems(), '')
    assert.deepEqual(
      context.logger.lines.filter(({ level }) => level === 'warn'),
      [],
    )
  })
})
