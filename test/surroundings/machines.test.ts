// A cluster on several machines: two machines with separate networks and addresses, each with a router, a coordinator, an
// overlord, and a historical on the same ports, and stores on a third machine, over TLS. Names and certificates are like
// those of deploy/kubernetes: one certificate for all servers of a role.

import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { after, before, describe, test } from 'node:test'
import { bundleOf } from '@svc/cli/bundles'
import { openHome, repositoryRoot } from '@svc/cli/home'
import { pkiTools, trustStoreFile } from '@svc/cli/pki'
import type { Role } from '@svc/shared/config'
import { createHttpClient, type HttpClient, waitUntil } from '@svc/shared/testing'
import { flights, flightsTask, runTask } from '../support/flights.ts'
import { createMachines, type Machines, machinesProblem } from '../support/machines.ts'
import { newTestFolder, removeTestFolder } from '../support/test-folder.ts'
import { redisUser, startTlsStores, type TlsStores } from '../support/tls-stores.ts'

const skip = machinesProblem() ?? false
const password = 'a password of machines'
const routerPort = 9088
// A busy machine takes long to start eight servers, and a server only notices through timeouts that it is
// disconnected.
const waitOptions = { timeoutMs: 150_000, pollMs: 200 }

const hostOf = (role: string, machine: number): string => `${role}-${machine}.${role}s.svc.svc`

describe('a cluster on several machines', { skip }, () => {
  const folder = newTestFolder()
  const home = openHome(path.join(folder, 'home'))
  const serverRoles = ['router', 'coordinator', 'overlord', 'historical'] as const
  let net: Machines
  let stores: TlsStores
  let routers: HttpClient[]

  const common = (): string[] => [
    'svc.bindOnHost=false',
    'svc.enablePlaintextPort=false',
    'svc.enableTlsPort=true',
    'svc.server.https.keyStoreType=pem',
    `svc.server.https.keyStorePassword=${password}`,
    'svc.client.https.trustStoreType=pem',
    `svc.client.https.trustStorePath=${trustStoreFile(home.pki)}`,
    'svc.extensions.loadList=["svc-basic-security","simple-client-sslcontext"]',
    'svc.auth.authenticatorChain=["basic"]',
    'svc.auth.authenticator.basic.type=basic',
    'svc.auth.authenticator.basic.authorizerName=basic',
    `svc.auth.authenticator.basic.initialAdminPassword=${password}`,
    `svc.auth.authenticator.basic.initialInternalClientPassword=${password}`,
    'svc.auth.authorizers=["basic"]',
    'svc.auth.authorizer.basic.type=basic',
    'svc.escalator.type=basic',
    'svc.escalator.authorizerName=basic',
    `svc.escalator.internalClientPassword=${password}`,
    'svc.metadata.storage.connector.host=stores.svc.svc',
    `svc.metadata.storage.connector.port=${stores.ports.postgres}`,
    `svc.metadata.storage.connector.password=${password}`,
    'svc.metadata.storage.connector.tls.mode=verify-full',
    `svc.metadata.storage.connector.tls.caPath=${trustStoreFile(home.pki)}`,
    'svc.queue.redis.host=stores.svc.svc',
    `svc.queue.redis.port=${stores.ports.redis}`,
    `svc.queue.redis.user=${redisUser}`,
    `svc.queue.redis.password=${password}`,
    'svc.queue.redis.tls.enabled=true',
    `svc.queue.redis.tls.caPath=${trustStoreFile(home.pki)}`,
    `svc.storage.storageDirectory=${path.join(folder, 'deep-storage')}`,
    `svc.indexer.logs.directory=${path.join(folder, 'task-logs')}`,
    `svc.ingestion.local.allowedRoots=["${path.join(repositoryRoot, 'data')}"]`,
    'svc.coordinator.period=PT1S',
  ]

  /** Starts the server of a role on a machine; its files are in a folder with its name. */
  function startServer(role: Role, machine: number): void {
    const host = hostOf(role, machine)
    const own = path.join(folder, host)
    mkdirSync(own)
    const runtime = [
      `svc.host=${host}`,
      `svc.server.https.keyStorePath=${path.join(home.pki, `${role}.pem`)}`,
      'svc.server.maxSize=10g',
      `svc.segmentCache.locations=[{"path":"${own}/cache","maxSize":"10g"}]`,
      `svc.indexer.task.baseTaskDir=${own}/tasks`,
    ]
    writeFileSync(path.join(own, 'common.properties'), `${common().join('\n')}\n`)
    writeFileSync(path.join(own, 'runtime.properties'), `${runtime.join('\n')}\n`)
    net.machines[machine]!.start(
      process.execPath,
      [bundleOf(role), ...['--common', 'common.properties', '--runtime', 'runtime.properties']],
      path.join(own, 'log'),
    )
  }

  before(async () => {
    net = createMachines(2)
    const hosts = serverRoles.flatMap((role) =>
      net.machines.map(({ address }, machine) => [hostOf(role, machine), address]),
    )
    net.name({ ...Object.fromEntries(hosts), 'stores.svc.svc': net.address })
    stores = await startTlsStores({ home, password, hosts: ['stores.svc.svc'], address: net.address })
    const tools = await pkiTools()
    for (const role of serverRoles)
      await tools.issueStores({ folder: home.pki, password, now: Date.now() }, role, {
        hosts: [`*.${role}s.svc.svc`],
        types: ['pem'],
        days: 2,
      })
    for (const role of serverRoles) for (const machine of net.machines.keys()) startServer(role, machine)
    const trusted = readFileSync(trustStoreFile(home.pki), 'utf8')
    routers = net.machines.map(({ address }, machine) =>
      createHttpClient(`https://${address}:${routerPort}`, {
        trusted,
        credentials: `admin:${password}`,
        serverName: hostOf('router', machine),
      }),
    )
  })
  after(async () => {
    for (const router of routers ?? []) router.close()
    await net?.stop()
    await stores?.stop()
    removeTestFolder(folder)
  })

  /** The host names of both leaders, according to one router. */
  async function leadersAt(router: HttpClient): Promise<string[]> {
    const answers = [
      await router.send({ path: '/svc/coordinator/v1/leader' }),
      await router.send({ path: '/svc/indexer/v1/leader' }),
    ]
    return answers.map(({ status, text }) => (status === 200 ? new URL(text).hostname : `status ${status}`))
  }
  const areOn = (leaders: readonly string[], machine: number): boolean =>
    leaders.join() === [hostOf('coordinator', machine), hostOf('overlord', machine)].join()
  const loadStatus = (router: HttpClient) => router.get('/svc/coordinator/v1/loadstatus')

  test('is one cluster, on every router', async () => {
    for (const router of routers) {
      const found = await waitUntil(
        'all servers are known',
        () => router.get<Record<string, { host: string }[]>>('/svc/coordinator/v1/cluster'),
        (cluster) => serverRoles.every((role) => cluster[role]?.length === 2),
        waitOptions,
      )
      for (const role of serverRoles)
        assert.deepEqual(found[role]!.map(({ host }) => host).sort(), [hostOf(role, 0), hostOf(role, 1)])
    }
    const [first, second] = await Promise.all(routers.map(leadersAt))
    assert.deepEqual(first, second)
  })

  test('ingests on one machine and serves on both', async () => {
    await runTask(routers[1]!, flightsTask())
    await routers[0]!.post(`/svc/coordinator/v1/rules/${flights.dataSource}`, [
      { type: 'loadForever', tieredReplicants: { _default_tier: 2 } },
    ])
    await waitUntil(
      'both historicals serve all segments',
      () => routers[0]!.get('/svc/coordinator/v1/loadstatus?full'),
      (status) => JSON.stringify(status) === '{"_default_tier":{"flights":0}}',
      waitOptions,
    )
  })

  test('survives the loss of the machine with its leaders, and lets it rejoin', async () => {
    // The leaders may be on either machine, or one on each. Those on the lost machine move to the other one.
    const [leading = ''] = await leadersAt(routers[0]!)
    const lost = leading === hostOf('coordinator', 0) ? 0 : 1
    const left = 1 - lost
    net.machines[lost]!.connect(false)
    await waitUntil(
      'the other machine has both leaders',
      () => leadersAt(routers[left]!),
      (leaders) => areOn(leaders, left),
      waitOptions,
    )
    const rules = [{ type: 'loadForever', tieredReplicants: { _default_tier: 1 } }]
    await routers[left]!.post('/svc/coordinator/v1/rules/_default', rules)
    await waitUntil(
      'all segments are still served',
      () => loadStatus(routers[left]!),
      (status) => JSON.stringify(status) === '{"flights":100}',
      waitOptions,
    )
    net.machines[lost]!.connect(true)
    await waitUntil(
      'both routers know the same leaders',
      () => Promise.all(routers.map(leadersAt)),
      (both) => both.every((leaders) => areOn(leaders, left)),
      waitOptions,
    )
    await waitUntil(
      'both historicals serve all segments again',
      () => routers[lost]!.get('/svc/coordinator/v1/loadstatus?full'),
      (status) => JSON.stringify(status) === '{"_default_tier":{"flights":0}}',
      waitOptions,
    )
  })
})
