// docker-compose.yml runs a complete cluster: it is isolated, loads and drops by rules over TLS with a password, loses
// nothing when a server dies or after down and up, and scales out and in.

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { connect } from 'node:tls'
import { waitUntil } from '@svc/shared/testing'
import { flights, flightsTask } from '../support/flights.ts'
import {
  heldBy,
  load,
  loadStatusPath,
  type RetentionScene,
  rulesPath,
  segmentsInCache,
  testLoadingIntoTwoTiers,
  testMovingAndDropping,
  untilCached,
  untilNothingIsMissing,
} from '../support/retention-cases.ts'
import { storedSegments } from '../support/segments.ts'
import { assertStopsAtOnce } from './support/assert-stops-at-once.ts'
import { openComposeCluster, runDocker } from './support/compose-cluster.ts'

const { dataSource } = flights
const servers = ['router', 'coordinator', 'overlord', 'broker', 'historical', 'historical-hot']
/** The users of the stores; all other containers run as the user of the image. */
const users: Readonly<Record<string, string>> = { postgres: 'postgres', redis: '1000:1000' }
const twoHot = ['--scale', 'historical-hot=2']

const cluster = await openComposeCluster()
after(() => cluster.end())

/** The addresses of the cluster change with each start, so they are looked up when used. */
const scene: RetentionScene = {
  get router() {
    return cluster.router
  },
  get store() {
    return cluster.store
  },
  at: cluster.at,
  nameOf: cluster.nameOf,
  hot: ['historical-hot-1', 'historical-hot-2'],
  standard: 'historical-1',
  task: flightsTask({ folder: '/var/lib/svc/input' }),
  deepStorage: () => cluster.files('overlord-1', 'deep-storage'),
  cache: (instance) => cluster.files(instance, `cache/${cluster.project}-${instance}`),
}

interface Inspected {
  readonly Config: {
    readonly User: string
    readonly Env: readonly string[]
    readonly Labels: Record<string, string>
  }
  readonly HostConfig: { readonly ReadonlyRootfs: boolean; readonly CapDrop: readonly string[] | null }
  readonly Mounts: readonly {
    readonly Name?: string
    readonly Destination: string
    readonly RW: boolean
  }[]
}

test('all containers become healthy, and the preparation exits', async () => {
  await cluster.up(twoHot)
  const containers = await cluster.containers()
  assert.deepEqual(containers.map(({ instance }) => instance).sort(), [
    'broker-1',
    'coordinator-1',
    'historical-1',
    'historical-hot-1',
    'historical-hot-2',
    'overlord-1',
    'postgres-1',
    'prepare-1',
    'redis-1',
    'router-1',
  ])
  for (const { instance, state, health, exitCode } of containers) {
    if (instance === 'prepare-1') assert.deepEqual({ state, exitCode }, { state: 'exited', exitCode: 0 })
    else assert.deepEqual({ state, health }, { state: 'running', health: 'healthy' }, instance)
  }
})

test('servers are unprivileged, have a read-only root, and never have the key of the authority or all passwords', async () => {
  const ids = (await cluster.compose('ps', '--all', '--quiet')).trim().split('\n')
  const inspected = JSON.parse((await runDocker(['inspect', ...ids])).stdout) as Inspected[]
  for (const { Config, HostConfig, Mounts } of inspected) {
    const service = Config.Labels['com.docker.compose.service']!
    assert.equal(HostConfig.ReadonlyRootfs, true, `${service} has a writable root`)
    assert.deepEqual(HostConfig.CapDrop, ['ALL'], service)
    assert.equal(Config.User, users[service] ?? 'svc', service)
    for (const variable of Config.Env) assert.ok(!variable.includes(cluster.password), service)
    if (service === 'prepare') continue
    for (const { Name, Destination, RW } of Mounts) {
      assert.doesNotMatch(Name ?? '', /_(authority|secrets)$/, service)
      if (Name?.match(/_(pki|.*-secrets)$/)) assert.equal(RW, false, `${service} ${Destination}`)
    }
  }
  const history = await runDocker(['history', '--no-trunc', '--format', '{{.CreatedBy}}', await imageOf()])
  assert.ok(!history.stdout.includes(cluster.password))
})

test('each container has only the passwords that it needs', async () => {
  const read = async (service: string, folder: string) =>
    (await cluster.compose('exec', '-T', service, 'ls', `/var/lib/svc/${folder}`)).trim().split('\n')
  const ofServers = ['internal-client-password', 'key-store-password', 'postgres-password', 'redis-password']
  for (const server of servers) assert.deepEqual(await read(server, 'secrets'), ofServers, server)
  assert.deepEqual(await read('coordinator', 'admin'), ['admin-password'])
  assert.deepEqual(await read('postgres', 'secrets'), ['postgres-password'])
  assert.deepEqual(await read('redis', 'secrets'), ['redis.conf'])
})

async function imageOf(): Promise<string> {
  const images = await cluster.compose('images', '--quiet', 'router')
  return images.trim()
}

test('the image is smaller than 350 MB', async () => {
  const { stdout } = await runDocker(['image', 'inspect', '--format', '{{.Size}}', await imageOf()])
  assert.ok(Number(stdout) < 350e6, stdout)
})

test('rejects clients without a valid password, and clients reject an unknown authority', async () => {
  const path = rulesPath
  const json = load({ hot: 1 })
  for (const credentials of [null, 'admin:wrong', `nobody:${cluster.password}`]) {
    const { status } = await cluster.router.send({ method: 'POST', path, json, credentials })
    assert.equal(status, 401, String(credentials))
  }
  // Only a handshake, without a request.
  const socket = connect({ host: '127.0.0.1', port: cluster.routerPort, servername: 'localhost' })
  const error = await new Promise<NodeJS.ErrnoException>((resolve, reject) => {
    socket.once('error', resolve)
    socket.once('secureConnect', () =>
      reject(new Error('The system trusts a certificate of our own authority')),
    )
  })
  assert.match(String(error.code), /SELF_SIGNED|UNABLE_TO/)
})

testLoadingIntoTwoTiers(scene)

test('after a historical is killed, the others of its tier take over until it is replaced', async () => {
  const instance = 'historical-hot-2'
  assert.ok((await heldBy(scene, instance)).length > 0)
  await runDocker(['kill', `${cluster.project}-${instance}`])
  await untilCached(scene, 'historical-hot-1', flights.days)
  assert.equal((await runDocker(['rm', `${cluster.project}-${instance}`])).status, 0)
  await cluster.up(twoHot)
  await untilNothingIsMissing(scene)
  // A segment may be on two servers while balancing moves it, so the count is not exact.
  await waitUntil(
    'the tier has every segment, and both servers have some',
    async () => {
      const caches = await Promise.all(scene.hot.map((one) => segmentsInCache(scene, one)))
      return {
        servers: caches.filter(({ size }) => size > 0).length,
        ids: caches.flatMap((held) => [...held.keys()]),
      }
    },
    ({ servers, ids }) => servers === scene.hot.length && new Set(ids).size === flights.days,
    { timeoutMs: 120_000 },
  )
  assert.deepEqual(await scene.router.get(loadStatusPath), { [dataSource]: 100 })
})

test('down and up lose nothing', async () => {
  const look = async () => ({
    rules: await scene.router.get('/svc/coordinator/v1/rules'),
    history: await scene.router.get(`${rulesPath}/history?count=10`),
    tasks: await scene.router.get('/svc/indexer/v1/tasks?state=complete'),
    segments: await storedSegments(scene.store, dataSource),
    deepStorage: await scene.deepStorage(),
    standard: await scene.cache('historical-1'),
    password: cluster.password,
    trusted: cluster.trusted,
  })
  const before = await look()
  await cluster.compose('down')
  assert.deepEqual(await cluster.containers(), [])
  await cluster.up(twoHot)
  await untilNothingIsMissing(scene)
  assert.deepEqual(await look(), before)
  assert.equal((await heldBy(scene, 'historical-1')).length, flights.days)
})

test('scaled to five, each has its own name, certificate, and all segments; scaled back to one, nothing is missing', async () => {
  const five = [1, 2, 3, 4, 5].map((number) => `historical-${number}`)
  await cluster.up([...twoHot, '--scale', 'historical=5'])
  await scene.router.post(rulesPath, load({ hot: 1, _default_tier: 5 }))
  await untilNothingIsMissing(scene)
  const serials = new Set<string>()
  for (const instance of five) {
    assert.equal((await heldBy(scene, instance)).length, flights.days, instance)
    serials.add(await serialOf(instance))
  }
  assert.equal(serials.size, five.length, 'replicas share a certificate')
  await assert.rejects(serialOf('historical-2', 'historical-3'), { code: 'ERR_TLS_CERT_ALTNAME_INVALID' })

  await scene.router.post(rulesPath, load({ hot: 1, _default_tier: 1 }))
  await cluster.up([...twoHot, '--scale', 'historical=1'])
  await untilCached(scene, 'historical-1', flights.days)
  await untilNothingIsMissing(scene)
})

/** The serial number of an instance's certificate, for a client that expects `name`. */
async function serialOf(instance: string, name = instance): Promise<string> {
  const { port } = new URL(cluster.at(instance).url)
  const servername = `${cluster.project}-${name}`
  const socket = connect({ host: '127.0.0.1', port: Number(port), servername, ca: cluster.trusted })
  try {
    return await new Promise<string>((resolve, reject) => {
      socket.once('secureConnect', () => resolve(socket.getPeerCertificate().serialNumber))
      socket.once('error', reject)
    })
  } finally {
    socket.destroy()
  }
}

testMovingAndDropping(scene)

test('a second coordinator and overlord take over from killed ones', async () => {
  await cluster.up(twoHot, 'ha')
  for (const [role, path] of [
    ['coordinator', '/svc/coordinator/v1/leader'],
    ['overlord', '/svc/indexer/v1/leader'],
  ] as const) {
    const leader = (await scene.router.send({ path })).text
    const service = leader.includes(`-${role}2-`) ? `${role}2` : role
    await runDocker(['kill', `${cluster.project}-${service}-1`])
    await waitUntil(
      `another ${role} is the leader`,
      () => scene.router.send({ path }),
      ({ status, text }) => status === 200 && text.startsWith('https://') && text !== leader,
      { timeoutMs: 120_000 },
    )
  }
  await waitUntil(
    'rules can be set',
    () => scene.router.send({ method: 'POST', path: rulesPath, json: load({ hot: 1 }) }),
    ({ status }) => status === 200,
    { timeoutMs: 120_000 },
  )
})

test('every container stops gracefully within ten seconds', async () => {
  await cluster.up(twoHot, 'ha')
  await cluster.compose('--profile', 'ha', 'stop')
  for (const { instance, state, exitCode } of await cluster.containers())
    assert.deepEqual({ state, exitCode }, { state: 'exited', exitCode: 0 }, instance)
})

test('a server that is stopped while it starts exits with status 0 at once', async () => {
  // Postgres is stopped, so the router keeps starting.
  await assertStopsAtOnce(`${cluster.project}-router-1`, [0, 20, 50, 100, 200, 500, 1000])
})
