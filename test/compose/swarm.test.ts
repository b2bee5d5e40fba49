// deploy/swarm/stack.yml runs on a swarm of one machine: servers find each other by service name, connect to external
// Postgres and Redis over TLS, keep their data, and survive the loss of a leader.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { after, before, describe, test } from 'node:test'
import { isDeepStrictEqual, parseEnv } from 'node:util'
import { openHome, repositoryRoot } from '@svc/cli/home'
import { pkiTools, trustStoreFile } from '@svc/cli/pki'
import { roles } from '@svc/shared/config'
import {
  createHttpClient,
  freePort,
  type HttpClient,
  type S3StandIn,
  standInBucket,
  startS3StandIn,
  waitUntil,
} from '@svc/shared/testing'
import { ledRoles, untilAnotherLeads } from '../support/another-leads.ts'
import { inlineTask } from '../support/inline-task.ts'
import { querySql } from '../support/sql.ts'
import { newTestFolder, removeTestFolder } from '../support/test-folder.ts'
import { redisUser, startTlsStores, type TlsStores } from '../support/tls-stores.ts'
import { runDocker } from './support/compose-cluster.ts'

const stack = 'svc-test'
const dataSource = 'swarmed'
// Twelve servers start at the same time, and others can resolve a name only once its server is healthy.
const waitOptions = { timeoutMs: 300_000, pollMs: 1000 }

async function docker(args: readonly string[], input = ''): Promise<string> {
  const { status, stdout, stderr } = await runDocker(args, environment, input)
  if (status !== 0) throw new Error(`docker ${args.join(' ')}: ${stderr}${stdout}`)
  return stdout.trim()
}

/**
 * The address of this machine for the containers of a swarm. Docker may create that network after `docker
 * swarm init` has returned.
 */
async function gatewayAddress(): Promise<string> {
  const args = ['network', 'inspect', 'docker_gwbridge', '--format', '{{(index .IPAM.Config 0).Gateway}}']
  const { stdout } = await waitUntil(
    'the network of the swarm exists',
    () => runDocker(args),
    ({ status }) => status === 0,
  )
  return stdout.trim()
}

const environment: Record<string, string> = {}
const state = (await runDocker(['info', '--format', '{{.Swarm.LocalNodeState}}'])).stdout.trim()
const skip =
  state !== 'inactive' && `The engine's swarm is [${state}]; the tests use only a swarm that they create`

describe('the stack of a swarm', { skip }, () => {
  const folder = newTestFolder()
  const home = openHome(path.join(folder, 'home'))
  const password = randomBytes(12).toString('hex')
  const secret = (name: string, text: string) => docker(['secret', 'create', name, '-'], text)
  let stores: TlsStores
  let s3: S3StandIn
  let router: HttpClient

  before(async () => {
    await docker(['swarm', 'init', '--advertise-addr', '127.0.0.1', '--listen-addr', '127.0.0.1'])
    const outside = await gatewayAddress()
    stores = await startTlsStores({ home, password, hosts: [outside], address: outside })
    s3 = await startS3StandIn({ after: () => undefined }, outside)
    await secret('s3-access-key', s3.accessKey)
    await secret('s3-secret-key', s3.secretKey)
    const tools = await pkiTools()
    const pki = { folder: home.pki, password, now: Date.now() }
    const issued = roles.map(async (role) => {
      const hosts = [`${role}-1`, `${role}-2`, 'localhost']
      await tools.issueStores(pki, role, { hosts, types: ['pem'], days: 2 })
      await secret(`${role}.pem`, readFileSync(path.join(home.pki, `${role}.pem`), 'utf8'))
    })
    await Promise.all(issued)
    const trusted = readFileSync(trustStoreFile(home.pki), 'utf8')
    for (const name of ['authority.pem', 'postgres-authority.pem', 'redis-authority.pem'])
      await secret(name, trusted)
    for (const name of ['key-store', 'admin', 'internal-client', 'postgres', 'redis'])
      await secret(`${name}-password`, password)
    const routerPort = String(await freePort())
    const { SVC_VERSION } = parseEnv(readFileSync(path.join(repositoryRoot, '.env'), 'utf8'))
    Object.assign(environment, {
      SVC_IMAGE: `svc:${SVC_VERSION}`,
      SVC_POSTGRES_HOST: outside,
      SVC_POSTGRES_PORT: String(stores.ports.postgres),
      SVC_REDIS_HOST: outside,
      SVC_REDIS_PORT: String(stores.ports.redis),
      SVC_REDIS_USER: redisUser,
      SVC_S3_ENDPOINT: s3.url,
      SVC_S3_BUCKET: standInBucket,
      SVC_ROUTER_PORT: routerPort,
      SVC_HISTORICAL_SIZE: '1g',
    })
    const files = ['deploy/swarm/stack.yml', 'test/compose/support/one-machine.yml']
    const options = files.flatMap((file) => ['--compose-file', path.join(repositoryRoot, file)])
    await docker(['stack', 'deploy', ...options, stack])
    const credentials = `admin:${password}`
    router = createHttpClient(`https://localhost:${routerPort}`, { trusted, credentials })
  })

  after(async () => {
    router?.close()
    const ofStack = ['--quiet', '--filter', `label=com.docker.stack.namespace=${stack}`]
    try {
      await docker(['stack', 'rm', stack])
      await waitUntil(
        'its containers are gone',
        () => docker(['ps', '--all', ...ofStack]),
        (ids) => ids === '',
        waitOptions,
      )
      await docker(['swarm', 'leave', '--force'])
      const volumes = (await docker(['volume', 'ls', ...ofStack])).split('\n').filter(Boolean)
      if (volumes.length > 0) await docker(['volume', 'rm', ...volumes])
    } finally {
      await stores?.stop()
      await s3?.stop()
      removeTestFolder(folder)
    }
  })

  const untilAllRun = async (): Promise<void> => {
    await waitUntil(
      'every service has its task',
      () => docker(['stack', 'services', stack, '--format', '{{.Name}} {{.Replicas}}']),
      (lines) => lines.split('\n').every((line) => line.endsWith(' 1/1') || line === `${stack}_router-2 0/0`),
      waitOptions,
    )
  }

  test('every server becomes healthy', untilAllRun)

  test('a task ingests rows that queries return', async () => {
    await router.post('/svc/indexer/v1/task', inlineTask(dataSource))
    await waitUntil(
      'the row is found',
      () => querySql(router, `SELECT d FROM "${dataSource}"`),
      ({ json }) => isDeepStrictEqual(json, [{ d: 'x' }]),
      waitOptions,
    )
  })

  for (const led of ledRoles) {
    test(`another ${led[0]} takes over when the leader is killed, and the swarm restarts that one`, async () => {
      const kill = async (host: string) => {
        const [container] = (await docker(['ps', '--quiet', '--filter', `name=${stack}_${host}.`])).split(
          '\n',
        )
        await docker(['kill', container!])
      }
      await untilAnotherLeads(router, led, kill, waitOptions)
      await untilAllRun()
    })
  }

  test('rules and rows are still there afterward', async () => {
    const rules = [{ type: 'loadForever', tieredReplicants: { _default_tier: 2 } }]
    await router.post(`/svc/coordinator/v1/rules/${dataSource}`, rules)
    assert.deepEqual((await querySql(router, `SELECT d FROM "${dataSource}"`)).json, [{ d: 'x' }])
  })
})
