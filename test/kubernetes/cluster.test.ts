// deploy/kubernetes runs on a single-node cluster on this machine: servers find each other by pod name, connect to
// external Postgres and Redis over TLS, and keep their data while pods are killed, replaced, added, and removed. Uses the
// current context of kubectl; creates the namespace svc, and deletes it afterward.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { appendFileSync, chmodSync, cpSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { after, before, describe, test } from 'node:test'
import { connect } from 'node:tls'
import { isDeepStrictEqual, parseEnv, promisify } from 'node:util'
import { openHome, repositoryRoot } from '@svc/cli/home'
import { trustStoreFile } from '@svc/cli/pki'
import { roles } from '@svc/shared/config'
import {
  createHttpClient,
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

const namespace = 'svc'
const dataSource = 'orchestrated'
const query = `SELECT d FROM "${dataSource}"`
const row = [{ d: 'x' }]
// Fourteen servers start at the same time, and the cluster's DNS may cache missing names for half a minute.
const waitOptions = { timeoutMs: 600_000, pollMs: 1000 }

async function kubectl(...args: string[]): Promise<string> {
  const options = { maxBuffer: 2 ** 26, timeout: waitOptions.timeoutMs }
  return (await promisify(execFile)('kubectl', ['--namespace', namespace, ...args], options)).stdout.trim()
}
/** The output of kubectl, one line per object. */
const lines = async (...args: string[]): Promise<string[]> =>
  (await kubectl(...args)).split('\n').filter(Boolean)

describe('the Kubernetes manifests', () => {
  const folder = newTestFolder()
  const home = openHome(path.join(folder, 'home'))
  const manifests = path.join(folder, 'deploy/kubernetes')
  const password = randomBytes(12).toString('hex')
  let stores: TlsStores
  let s3: S3StandIn
  let address: string
  let trusted: string
  let credentials: string
  let router: HttpClient

  const apply = () => kubectl('apply', '--validate=strict', '--kustomize', manifests)

  before(async () => {
    assert.deepEqual(
      await lines('get', 'namespaces', '--output=name', `--field-selector=metadata.name=${namespace}`),
      [],
    )
    const ofNode = '{.items[*].status.addresses[?(@.type=="InternalIP")].address}'
    address = await kubectl('get', 'nodes', `--output=jsonpath=${ofNode}`)
    stores = await startTlsStores({ home, password, hosts: [address], address })
    s3 = await startS3StandIn({ after: () => undefined }, address)
    copyManifests()
    await promisify(execFile)(path.join(manifests, 'make-secrets.sh'), mountedFiles())
    trusted = readFileSync(path.join(manifests, 'secrets/authority.pem'), 'utf8')
    credentials = `admin:${readFileSync(path.join(manifests, 'secrets/admin-password'), 'utf8')}`
    await apply()
    const host = await kubectl('get', 'service', 'router', '--output=jsonpath={.spec.clusterIP}')
    router = createHttpClient(`https://${host}:9088`, { trusted, credentials, serverName: 'router.svc.svc' })
  })

  after(async () => {
    router?.close()
    try {
      await kubectl('delete', '--ignore-not-found', '--wait', `namespace/${namespace}`)
    } finally {
      await stores?.stop()
      await s3?.stop()
      removeTestFolder(folder)
    }
  })

  /** The manifests with a user's settings, and small enough for one node. */
  function copyManifests(): void {
    cpSync(path.join(repositoryRoot, 'deploy/kubernetes'), manifests, {
      recursive: true,
      filter: (file) => path.basename(file) !== 'secrets',
    })
    const command = path.join(folder, 'svc')
    writeFileSync(command, `#!/bin/sh\nexec "${path.join(repositoryRoot, 'svc')}" "$@"\n`)
    chmodSync(command, 0o755)
    const { SVC_VERSION } = parseEnv(readFileSync(path.join(repositoryRoot, '.env'), 'utf8'))
    change(
      'kustomization.yaml',
      'newName: registry.example.com/svc, newTag: 0.1.0',
      `newName: svc, newTag: ${SVC_VERSION}`,
    )
    change(
      'kustomization.yaml',
      'patches:\n',
      'patches:\n  - path: one-node.yaml\n    target: { kind: StatefulSet }\n',
    )
    cpSync(path.join(import.meta.dirname, 'support/one-node.yaml'), path.join(manifests, 'one-node.yaml'))
    change('properties.env', 'host=postgres.example.com', `host=${address}`)
    change('properties.env', 'connector_port=5432', `connector_port=${stores.ports.postgres}`)
    change('properties.env', 'host=redis.example.com', `host=${address}`)
    change('properties.env', 'redis_port=6379', `redis_port=${stores.ports.redis}`)
    change('properties.env', 'https://s3.example.com', s3.url)
    change('properties.env', 'storage_bucket=svc', `storage_bucket=${standInBucket}`)
    change('properties.env', 's3Bucket=svc', `s3Bucket=${standInBucket}`)
    appendFileSync(path.join(manifests, 'properties.env'), `svc_queue_redis_user=${redisUser}\n`)
  }

  function change(name: string, from: string, to: string): void {
    const file = path.join(manifests, name)
    const text = readFileSync(file, 'utf8')
    assert.ok(text.includes(from), from)
    writeFileSync(file, text.replace(from, to))
  }

  function mountedFiles(): string[] {
    const file = path.join(folder, 'store-password')
    writeFileSync(file, password)
    const authority = trustStoreFile(home.pki)
    const [accessKey, secretKey] = [path.join(folder, 's3-access-key'), path.join(folder, 's3-secret-key')]
    writeFileSync(accessKey, s3.accessKey)
    writeFileSync(secretKey, s3.secretKey)
    return [file, file, authority, authority, accessKey, secretKey]
  }

  const untilAllAreReady = async (): Promise<void> => {
    for (const role of roles)
      await kubectl('rollout', 'status', `statefulset/${role}`, `--timeout=${waitOptions.timeoutMs}ms`)
  }
  const untilAnswered = () =>
    waitUntil(
      'the query returns the row',
      () => querySql(router, query),
      ({ json }) => isDeepStrictEqual(json, row),
      waitOptions,
    )
  const untilLoaded = () =>
    waitUntil(
      'all replicas are loaded',
      () => router.get<object>(`/svc/coordinator/v1/loadstatus?full`),
      (left) => isDeepStrictEqual(left, { _default_tier: { [dataSource]: 0 } }),
      waitOptions,
    )

  /** Runs queries on new connections during `work`; every answer must be the row. */
  async function requestWhile(work: () => Promise<void>): Promise<void> {
    let isDone = false
    let right = 0
    const wrong: string[] = []
    const request = async (): Promise<void> => {
      while (!isDone) {
        const client = createHttpClient(router.url, { trusted, credentials, serverName: 'router.svc.svc' })
        try {
          const { status, json, text } = await querySql(client, query)
          if (isDeepStrictEqual(json, row)) right += 1
          else wrong.push(`${new Date().toISOString()} ${status} ${text}`)
        } catch (error) {
          wrong.push(`${new Date().toISOString()} ${String(error)}`)
        } finally {
          client.close()
        }
      }
    }
    const requesting = Promise.all([request(), request(), request()])
    try {
      await work()
    } finally {
      isDone = true
      await requesting
    }
    assert.deepEqual(wrong, [])
    assert.ok(right > 30, String(right))
  }

  test('every pod becomes ready', untilAllAreReady)

  test('a task ingests rows that queries return, and a rule replicates them', async () => {
    await router.post('/svc/indexer/v1/task', inlineTask(dataSource))
    await untilAnswered()
    const rules = [{ type: 'loadForever', tieredReplicants: { _default_tier: 2 } }]
    await router.post(`/svc/coordinator/v1/rules/${dataSource}`, rules)
    await untilLoaded()
  })

  for (const led of ledRoles) {
    test(`another ${led[0]} takes over when the pod of the leader is killed`, async () => {
      const kill = (host: string) =>
        kubectl('delete', 'pod', host.split('.')[0]!, '--force', '--grace-period=0')
      await untilAnotherLeads(router, led, kill, waitOptions)
      await untilAllAreReady()
    })
  }

  test('historicals can be removed and added during queries', async () => {
    await requestWhile(async () => {
      for (const replicas of [2, 3]) {
        await kubectl('scale', 'statefulset/historical', `--replicas=${replicas}`)
        await untilAllAreReady()
        await untilLoaded()
      }
    })
  })

  test('every pod can be replaced during queries', async () => {
    await requestWhile(async () => {
      await kubectl('rollout', 'restart', 'statefulset')
      await untilAllAreReady()
    })
  })

  test('a changed property is applied to every server', async () => {
    change('properties.env', 'svc_coordinator_period=PT30S', 'svc_coordinator_period=PT20S')
    await apply()
    await untilAllAreReady()
    const { 'svc.coordinator.period': period } =
      await router.get<Record<string, string>>('/status/properties')
    assert.equal(period, 'PT20S')
    await untilAnswered()
  })

  test('running routers use a changed certificate', async () => {
    const shown = async (): Promise<string> => {
      const { hostname: host, port } = new URL(router.url)
      const socket = connect({ host, port: Number(port), ca: trusted, servername: 'router.svc.svc' })
      await once(socket, 'secureConnect')
      const { fingerprint256 } = socket.getPeerCertificate()
      socket.destroy()
      return fingerprint256
    }
    const pods = () =>
      lines(
        'get',
        'pods',
        '--output=jsonpath={range .items[*]}{.metadata.uid} {.status.containerStatuses[0].restartCount}{"\\n"}{end}',
      )
    const [before, podsBefore] = [await shown(), await pods()]
    const pki = path.join(manifests, 'secrets/pki')
    const args = [
      'pki',
      'issue',
      'router',
      '--folder',
      pki,
      '--type',
      'pem',
      '--hosts',
      '*.routers.svc.svc,router.svc.svc',
    ]
    await promisify(execFile)(path.join(repositoryRoot, 'svc'), args)
    cpSync(path.join(pki, 'router.pem'), path.join(manifests, 'secrets/router.pem'))
    await apply()
    // The kubelet syncs secrets every minute or two.
    await waitUntil(
      'routers use the new certificate',
      shown,
      (fingerprint) => fingerprint !== before,
      waitOptions,
    )
    assert.deepEqual(await pods(), podsBefore)
  })
})
