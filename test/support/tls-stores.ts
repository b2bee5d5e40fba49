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
import { freePort } from '@svc/shared/testing'
import { waitUntil } from './wait-until.ts'

/** A Postgres and a Redis of a test that speak TLS only, each with a password. */
export interface TlsStores {
  readonly ports: { readonly postgres: number; readonly redis: number }
  stop(): Promise<void>
}

/** The user of that Redis; there is no other. */
export const redisUser = 'queues'

/** Where they live and what they are called. */
export interface TlsStoresOptions {
  readonly home: HomeLayout
  /** Of the key store, the user `svc` of Postgres and the user of Redis. */
  readonly password: string
  /** The names and addresses that their certificate is for. */
  readonly hosts: readonly string[]
  /** Where they listen. */
  readonly address?: string
}

/** Starts both with a certificate of the authority of the home, which is made at first. */
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
    'the stores are there',
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
  // Nobody comes in without TLS.
  writeFileSync(path.join(home.postgres, 'pg_hba.conf'), 'hostssl all all all scram-sha-256\n')
  for (const [name, text] of Object.entries(files)) {
    const file = path.join(home.postgres, name)
    writeFileSync(file, text, { mode: 0o600 })
    if (runAs.id !== undefined) chownSync(file, runAs.id, runAs.id)
  }
  const { file, args, env, uid, gid, cwd } = postgresServer(home, runAs, port)
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
