import { type ChildProcess, spawn } from 'node:child_process'
import { createPrivateKey } from 'node:crypto'
import { once } from 'node:events'
import { chownSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { isListening } from '@svc/cli/cluster'
import { type HomeLayout, repositoryRoot } from '@svc/cli/home'
import { pkiTools, trustStoreFile } from '@svc/cli/pki'
import {
  decideRunAs,
  ensureDataFolder,
  isPostgresReady,
  postgresBinaries,
  postgresServer,
} from '@svc/cli/postgres'
import { findRedis } from '@svc/cli/redis'
import { freePort, waitUntil } from '@svc/shared/testing'

/** A Postgres and a Redis for a test that accept TLS only, each with a password. */
export interface TlsStores {
  readonly ports: { readonly postgres: number; readonly redis: number }
  stop(): Promise<void>
}

/** The only user of that Redis. */
export const redisUser = 'queues'

/** Where they are and what they are called. */
export interface TlsStoresOptions {
  readonly home: HomeLayout
  /** Password of the key store, the Postgres user `svc`, and the Redis user. */
  readonly password: string
  /** The names and addresses in their certificate. */
  readonly hosts: readonly string[]
  /** Addresses to listen on. */
  readonly address?: string
}

/** Starts both with a certificate from the authority of the home, which is created first. */
export async function startTlsStores(options: TlsStoresOptions): Promise<TlsStores> {
  const { address = '127.0.0.1' } = options
  const ports = { postgres: await freePort(), redis: await freePort() }
  const certificate = await issueCertificate(options)
  const running = await Promise.all([
    startPostgres(options, address, ports.postgres, certificate),
    startRedis(options, address, ports.redis, certificate),
  ])
  const [postgres] = running
  await waitUntil(
    'the stores are ready',
    async () =>
      isPostgresReady(options.home, postgres.pid!) &&
      (await isListening(`rediss://${address}:${ports.redis}`)),
    (areThere) => areThere,
  )
  return {
    ports,
    stop: async () => {
      for (const child of running) {
        const ended = once(child, 'exit')
        child.kill('SIGINT')
        await ended
      }
    },
  }
}

interface Certificate {
  readonly key: string
  readonly chain: string
}

async function issueCertificate({ home, password, hosts }: TlsStoresOptions): Promise<Certificate> {
  const tools = await pkiTools()
  const pki = { folder: home.pki, password, now: Date.now() }
  await tools.initAuthority(pki)
  await tools.issueStores(pki, 'store', { hosts, types: ['pem'], days: 2 })
  const pem = readFileSync(path.join(home.pki, 'store.pem'), 'utf8')
  const key = createPrivateKey({ key: pem, passphrase: password }).export({ type: 'pkcs8', format: 'pem' })
  return { key: key.toString(), chain: pem.slice(pem.indexOf('-----BEGIN CERTIFICATE-----')) }
}

async function startPostgres(
  { home, password }: TlsStoresOptions,
  address: string,
  port: number,
  certificate: Certificate,
): Promise<ChildProcess> {
  const runAs = decideRunAs(home, postgresBinaries())
  await ensureDataFolder(home, runAs, password, new AbortController().signal)
  const files = { 'server.key': certificate.key, 'server.crt': certificate.chain }
  // Only allow connections with TLS.
  writeFileSync(path.join(home.postgres, 'pg_hba.conf'), 'hostssl all all all scram-sha-256\n')
  for (const [name, text] of Object.entries(files)) {
    const file = path.join(home.postgres, name)
    writeFileSync(file, text, { mode: 0o600 })
    if (runAs.id !== undefined) chownSync(file, runAs.id, runAs.id)
  }
  const { file, args, env, uid, gid, cwd } = postgresServer(home, runAs, { port, services: 0 })
  const options = { env, cwd, ...(uid === undefined ? {} : { uid }), ...(gid === undefined ? {} : { gid }) }
  const more = ['-c', 'ssl=on', '-c', `listen_addresses=${address}`]
  return spawn(file, [...args, ...more], { ...options, stdio: 'ignore' })
}

async function startRedis(
  { home, password }: TlsStoresOptions,
  address: string,
  port: number,
  certificate: Certificate,
): Promise<ChildProcess> {
  const cacheFolder = path.join(repositoryRoot, '.cache/redis')
  const program = await findRedis({ searchPath: process.env.PATH ?? '', cacheFolder, onDownload: () => {} })
  const at = (name: string) => path.join(home.redis, name)
  writeFileSync(at('server.key'), certificate.key, { mode: 0o600 })
  writeFileSync(at('server.crt'), certificate.chain)
  const configuration = [
    `bind ${address}`,
    'port 0',
    `tls-port ${port}`,
    `tls-cert-file ${at('server.crt')}`,
    `tls-key-file ${at('server.key')}`,
    `tls-ca-cert-file ${trustStoreFile(home.pki)}`,
    'tls-auth-clients no',
    'save ""',
    'user default off',
    `user ${redisUser} on ">${password}" ~* &* +@all`,
  ]
  writeFileSync(at('redis.conf'), `${configuration.join('\n')}\n`)
  const libraries = program.libraries ? { LD_LIBRARY_PATH: program.libraries } : {}
  return spawn(program.file, [at('redis.conf')], {
    env: { PATH: process.env.PATH, ...libraries },
    stdio: 'ignore',
  })
}
