// Proves that servers reach a Postgres and a Redis that speak TLS only, with the checks that the properties ask for and no
// fewer: certificates are those of the development authority, both stores are real ones.
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { createPrivateKey } from 'node:crypto'
import { chownSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import path from 'node:path'
import { after, before, describe, test } from 'node:test'
import { openHome, repositoryRoot } from '@svc/cli/home'
import { pkiTools, trustStoreFile } from '@svc/cli/pki'
import { decideRunAs, ensureDataFolder, postgresBinaries, postgresServer } from '@svc/cli/postgres'
import { findRedis } from '@svc/cli/redis'
import { createDatabase, sql } from '@svc/shared/postgres'
import { openProducerConnection } from '@svc/shared/redis'
import { freePort, testSettings } from '@svc/shared/testing'
import { newTestFolder, removeTestFolder } from './support/test-folder.ts'
import { waitUntil } from './support/wait-until.ts'

const folder = newTestFolder()
const home = openHome(path.join(folder, 'home'))
const tools = await pkiTools()
const password = 'a password of stores'
const running: ChildProcess[] = []
const ports = { postgres: await freePort(), redis: await freePort() }
const otherAuthority = path.join(home.pki, 'other.pem')

after(async () => {
  for (const child of running) {
    const ended = new Promise((resolve) => child.once('exit', resolve))
    child.kill('SIGINT')
    await ended
  }
  removeTestFolder(folder)
})

/** The certificate is for the name of this machine, not for its address. */
async function issueCertificate(): Promise<{ key: string; chain: string }> {
  const pki = { folder: home.pki, password, now: Date.now() }
  await tools.initAuthority(pki)
  await tools.issueStores(pki, 'store', { hosts: ['localhost'], types: ['pem'], days: 2 })
  const pem = readFileSync(path.join(home.pki, 'store.pem'), 'utf8')
  const key = createPrivateKey({ key: pem, passphrase: password }).export({ type: 'pkcs8', format: 'pem' })
  return { key: key.toString(), chain: pem.slice(pem.indexOf('-----BEGIN CERTIFICATE-----')) }
}

async function startPostgres(certificate: { key: string; chain: string }): Promise<void> {
  const runAs = decideRunAs(home, postgresBinaries())
  await ensureDataFolder(home, runAs, password, new AbortController().signal)
  const files = { 'server.key': certificate.key, 'server.crt': certificate.chain }
  // Nobody comes in without TLS.
  writeFileSync(path.join(home.postgres, 'pg_hba.conf'), 'hostssl all all all scram-sha-256\n')
  for (const [name, text] of Object.entries(files)) {
    const file = path.join(home.postgres, name)
    writeFileSync(file, text, { mode: 0o600 })
    if (runAs.id !== undefined) chownSync(file, runAs.id, runAs.id)
  }
  const { file, args, env, uid, gid, cwd } = postgresServer(home, runAs, ports.postgres)
  const options = { env, cwd, ...(uid === undefined ? {} : { uid }), ...(gid === undefined ? {} : { gid }) }
  running.push(spawn(file, [...args, '-c', 'ssl=on'], { ...options, stdio: 'ignore' }))
}

async function startRedis(certificate: { key: string; chain: string }): Promise<void> {
  const cacheFolder = path.join(repositoryRoot, '.cache/redis')
  const program = await findRedis({ searchPath: process.env.PATH ?? '', cacheFolder, onDownload: () => {} })
  const at = (name: string) => path.join(home.redis, name)
  writeFileSync(at('server.key'), certificate.key, { mode: 0o600 })
  writeFileSync(at('server.crt'), certificate.chain)
  const configuration = [
    'bind 127.0.0.1',
    'port 0',
    `tls-port ${ports.redis}`,
    `tls-cert-file ${at('server.crt')}`,
    `tls-key-file ${at('server.key')}`,
    `tls-ca-cert-file ${trustStoreFile(home.pki)}`,
    'tls-auth-clients no',
    'save ""',
    'user default off',
    `user queues on ">${password}" ~* &* +@all`,
  ]
  writeFileSync(at('redis.conf'), `${configuration.join('\n')}\n`)
  const libraries = program.libraries ? { LD_LIBRARY_PATH: program.libraries } : {}
  running.push(
    spawn(program.file, [at('redis.conf')], {
      env: { PATH: process.env.PATH, ...libraries },
      stdio: 'ignore',
    }),
  )
}

const isOpen = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => resolve(true))
    socket.once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })

before(async () => {
  const certificate = await issueCertificate()
  await tools.initAuthority({ folder: folderOfOther(), password, now: Date.now() })
  writeFileSync(otherAuthority, readFileSync(trustStoreFile(folderOfOther())))
  await Promise.all([startPostgres(certificate), startRedis(certificate)])
  for (const port of Object.values(ports))
    await waitUntil(
      'the store is there',
      () => isOpen(port),
      (open) => open,
    )
  assert.ok(existsSync(otherAuthority))
})

const folderOfOther = (): string => home.input

const authority = (name: 'ours' | 'other'): string =>
  name === 'ours' ? trustStoreFile(home.pki) : otherAuthority

describe('a Postgres that speaks TLS', () => {
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
      const asked = database.query<{ ssl: boolean }>(
        sql`SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()`,
      )
      try {
        if (connects) assert.deepEqual(await asked, [{ ssl: true }])
        else if (mode === 'disable') await assert.rejects(asked, /no pg_hba.conf entry .* no encryption/)
        else await assert.rejects(asked, { code: 'unavailable' })
      } finally {
        await database.close()
      }
    })
  }

  test('tells changes over TLS too', async () => {
    const database = createDatabase(settingsOf('verify-full', 'localhost', 'ours'), {
      connections: 1,
      applicationName: 'test',
    })
    let heard = 0
    await database.listen('tests', () => {
      heard += 1
    })
    await database.query(sql`NOTIFY tests`)
    await waitUntil(
      'the notice is heard',
      () => heard,
      (count) => count > 0,
    )
    await database.close()
  })
})

describe('a Redis that speaks TLS', () => {
  const settingsOf = (more: Record<string, string>) =>
    testSettings('coordinator', {
      'svc.queue.redis.host': 'localhost',
      'svc.queue.redis.port': String(ports.redis),
      'svc.queue.redis.user': 'queues',
      'svc.queue.redis.password': password,
      'svc.queue.redis.tls.enabled': 'true',
      'svc.queue.redis.tls.caPath': authority('ours'),
      ...more,
    })
  const rows: readonly [name: string, more: () => Record<string, string>, connects: boolean][] = [
    ['by its name', () => ({}), true],
    ['by its address', () => ({ 'svc.queue.redis.host': '127.0.0.1' }), false],
    [
      'by its address, host names off',
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
