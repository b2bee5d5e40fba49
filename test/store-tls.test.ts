// Servers connect to a real Postgres and Redis that accept TLS only, with exactly the checks that the properties
// require. The development authority issues the certificates.
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { after, describe, test } from 'node:test'
import { openHome } from '@svc/cli/home'
import { pkiTools, trustStoreFile } from '@svc/cli/pki'
import { createDatabase, sql } from '@svc/shared/postgres'
import { openProducerConnection } from '@svc/shared/redis'
import { testSettings, waitUntil } from '@svc/shared/testing'
import { newTestFolder, removeTestFolder } from './support/test-folder.ts'
import { redisUser, startTlsStores } from './support/tls-stores.ts'

const folder = newTestFolder()
const home = openHome(path.join(folder, 'home'))
const tools = await pkiTools()
const password = 'a password of stores'
const otherAuthority = path.join(home.pki, 'other.pem')

const folderOfOther = (): string => home.input

await tools.initAuthority({ folder: folderOfOther(), password, now: Date.now() })
writeFileSync(otherAuthority, readFileSync(trustStoreFile(folderOfOther())))
// The certificate is for the name of this machine, not for its address.
const stores = await startTlsStores({ home, password, hosts: ['localhost'] })
const { ports } = stores

after(async () => {
  await stores.stop()
  removeTestFolder(folder)
})

const authority = (name: 'ours' | 'other'): string =>
  name === 'ours' ? trustStoreFile(home.pki) : otherAuthority

describe('a Postgres with TLS only', () => {
  const rows: readonly [mode: string, host: string, trusted: 'ours' | 'other', connects: boolean][] = [
    ['verify-full', 'localhost', 'ours', true],
    ['verify-full', '127.0.0.1', 'ours', false],
    ['verify-full', 'localhost', 'other', false],
    ['verify-ca', '127.0.0.1', 'ours', true],
    ['verify-ca', 'localhost', 'other', false],
    ['require', '127.0.0.1', 'other', true],
    ['disable', 'localhost', 'ours', false],
  ]
  const prefix = 'svc.metadata.storage.connector'
  const settingsOf = (mode: string, host: string, trusted: 'ours' | 'other', secret = password) =>
    testSettings('coordinator', {
      [`${prefix}.host`]: host,
      [`${prefix}.port`]: String(ports.postgres),
      [`${prefix}.password`]: secret,
      [`${prefix}.tls.mode`]: mode,
      [`${prefix}.tls.caPath`]: authority(trusted),
    })

  for (const [mode, host, trusted, connects] of rows) {
    test(`${connects ? 'is reached' : 'is not reached'} with ${mode} as ${host}, trusting ${trusted}`, async () => {
      const database = createDatabase(settingsOf(mode, host, trusted), {
        connections: 1,
        applicationName: 'test',
      })
      const requested = database.query<{ ssl: boolean }>(
        sql`SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()`,
      )
      try {
        if (connects) assert.deepEqual(await requested, [{ ssl: true }])
        else if (mode === 'disable') await assert.rejects(requested, /no pg_hba.conf entry .* no encryption/)
        else await assert.rejects(requested, { code: 'unavailable' })
      } finally {
        await database.close()
      }
    })
  }

  test('sends notifications over TLS too', async () => {
    const database = createDatabase(settingsOf('verify-full', 'localhost', 'ours'), {
      connections: 1,
      applicationName: 'test',
    })
    let notifications = 0
    await database.listen('tests', () => {
      notifications += 1
    })
    await database.query(sql`NOTIFY tests`)
    await waitUntil(
      'the notification arrived',
      () => notifications,
      (count) => count > 0,
    )
    await database.close()
  })
})

describe('a Redis with TLS only', () => {
  const settingsOf = (more: Record<string, string>) =>
    testSettings('coordinator', {
      'svc.queue.redis.host': 'localhost',
      'svc.queue.redis.port': String(ports.redis),
      'svc.queue.redis.user': redisUser,
      'svc.queue.redis.password': password,
      'svc.queue.redis.tls.enabled': 'true',
      'svc.queue.redis.tls.caPath': authority('ours'),
      ...more,
    })
  const rows: readonly [name: string, more: () => Record<string, string>, connects: boolean][] = [
    ['by its name', () => ({}), true],
    ['by its address', () => ({ 'svc.queue.redis.host': '127.0.0.1' }), false],
    [
      'by its address, without hostname check',
      () => ({
        'svc.queue.redis.host': '127.0.0.1',
        'svc.queue.redis.tls.validateHostnames': 'false',
      }),
      true,
    ],
    ['with another authority', () => ({ 'svc.queue.redis.tls.caPath': authority('other') }), false],
    ['with a wrong password', () => ({ 'svc.queue.redis.password': 'wrong' }), false],
    ['without TLS', () => ({ 'svc.queue.redis.tls.enabled': 'false' }), false],
  ]
  for (const [name, more, connects] of rows) {
    test(`${connects ? 'is reached' : 'is not reached'} ${name}`, async () => {
      const redis = openProducerConnection(settingsOf(more()))
      const outcome = await new Promise<string>((resolve) => {
        redis.once('ready', () => resolve('ready'))
        redis.once('error', (error) => resolve(String(error)))
        redis.once('close', () => resolve('closed'))
      })
      if (connects) {
        assert.equal(outcome, 'ready')
        assert.equal(await redis.ping(), 'PONG')
      } else assert.notEqual(outcome, 'ready')
      redis.disconnect()
    })
  }
})
