// Checks docker-compose.yml, and the Kubernetes and swarm files in deploy/, without starting anything. They match the schemas of
// their formats. The servers know every property and accept its value. Every path is in a volume, and every
// announced name has a certificate. Nothing has more privileges than it needs. If kubectl is installed, the
// files also match what it renders.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { chmodSync, cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { after, describe, test } from 'node:test'
import { repositoryRoot } from '@svc/cli/home'
import { loadSettings, type Role, roles } from '@svc/shared/config'
import { loadTlsStores } from '@svc/shared/tls'
import { Ajv } from 'ajv'
import { parse, parseAllDocuments } from 'yaml'
import { type Manifest, renderKustomization } from './support/render-kustomization.ts'
import { newTestFolder, removeTestFolder } from './support/test-folder.ts'

const folder = newTestFolder()
after(() => removeTestFolder(folder))
const kubernetes = path.join(folder, 'deploy/kubernetes')
cpSync(path.join(repositoryRoot, 'deploy'), path.join(folder, 'deploy'), {
  recursive: true,
  filter: (file) => path.basename(file) !== 'secrets',
})
writeFileSync(path.join(folder, 'svc'), `#!/bin/sh\nexec "${path.join(repositoryRoot, 'svc')}" "$@"\n`)
chmodSync(path.join(folder, 'svc'), 0o755)

const passwordFromOutside = 'of-a-store-outside'

/** The files that users create. There is only one authority, so its certificate is reused for all of them. */
function createSecrets(): void {
  const brought = path.join(folder, 'brought')
  mkdirSync(brought)
  const files = [
    'postgres-password',
    'redis-password',
    'postgres-authority.pem',
    'redis-authority.pem',
    's3-access-key',
    's3-secret-key',
  ]
  for (const name of files) {
    const text = name.endsWith('.pem')
      ? readFileSync(path.join(repositoryRoot, 'test/fixtures/stores/authority.pem'), 'utf8')
      : passwordFromOutside
    writeFileSync(path.join(brought, name), text)
  }
  execFileSync(
    path.join(kubernetes, 'make-secrets.sh'),
    files.map((name) => path.join(brought, name)),
    { env: { ...process.env, SVC_ROUTER_HOSTS: 'svc.example.com' }, stdio: ['ignore', 'ignore', 'inherit'] },
  )
}
createSecrets()
const manifests = renderKustomization(kubernetes)

const schema = (name: string) =>
  JSON.parse(readFileSync(path.join(repositoryRoot, 'test/fixtures/schemas', name), 'utf8')) as {
    $defs: Record<string, unknown>
  }

interface Variable {
  readonly name: string
  readonly value?: string
}
interface Mount {
  readonly name: string
  readonly mountPath: string
}
interface StatefulSet extends Manifest {
  readonly spec: {
    readonly serviceName: string
    readonly replicas: number
    readonly volumeClaimTemplates?: readonly { readonly metadata: { readonly name: string } }[]
    readonly template: {
      readonly spec: {
        readonly securityContext: object
        readonly automountServiceAccountToken: boolean
        readonly volumes: readonly {
          readonly name: string
          readonly secret?: { readonly secretName: string }
          readonly persistentVolumeClaim?: { readonly claimName: string }
        }[]
        readonly containers: readonly {
          readonly args: readonly [task: string, role: Role]
          readonly env: readonly Variable[]
          readonly envFrom: readonly { readonly configMapRef: { readonly name: string } }[]
          readonly ports: readonly { readonly containerPort: number }[]
          readonly volumeMounts: readonly Mount[]
          readonly securityContext: object
          readonly [probe: string]: unknown
        }[]
      }
    }
  }
}

const ofKind = (kind: string) => manifests.filter((manifest) => manifest.kind === kind)
const named = (kind: string, name: string): Manifest =>
  ofKind(kind).find(({ metadata }) => metadata.name === name) ?? assert.fail(`no ${kind} [${name}]`)
const servers = ofKind('StatefulSet') as StatefulSet[]
const containerOf = (server: StatefulSet) => server.spec.template.spec.containers[0]!
const roleOf = (server: StatefulSet): Role => containerOf(server).args[1]

/** The environment of the first pod of a server. */
function environmentOf(server: StatefulSet): Record<string, string> {
  const { env, envFrom } = containerOf(server)
  const known: Record<string, string> = {
    POD_NAME: `${server.metadata.name}-0`,
    POD_NAMESPACE: server.metadata.namespace!,
  }
  const shared = envFrom.flatMap(({ configMapRef }) =>
    Object.entries(named('ConfigMap', configMapRef.name).data as object),
  )
  const own = env.flatMap(({ name, value }) =>
    value === undefined ? [] : [[name, value.replace(/\$\((\w+)\)/g, (_, variable) => known[variable]!)]],
  )
  return Object.fromEntries([...shared, ...own])
}

/** The absolute paths in the values of an environment, without URLs. */
const pathsIn = (environment: Record<string, string>): string[] =>
  Object.values(environment).flatMap((value) => value.match(/(?<![:/])\/[\w./-]+/g) ?? [])

/**
 * Loads the settings of a server from an environment whose paths are in `root`; fails if the settings are
 * invalid.
 */
async function takenBy(role: Role, environment: Record<string, string>, root: string): Promise<string> {
  const moved = Object.fromEntries(
    Object.entries(environment).map(([name, value]) => [
      name,
      value.replaceAll('/var/lib/svc/', `${root}/`).replaceAll('/run/secrets/', `${root}/`),
    ]),
  )
  const settings = loadSettings(role, [], moved)
  const loaded = await loadTlsStores(settings, Date.now())
  if (loaded.kind === 'faulty') assert.fail(loaded.problems.join('\n'))
  const own = new X509Certificate(loaded.stores.server?.identity.cert ?? assert.fail('no certificate'))
  const host = settings.get('svc.host')
  assert.ok(own.checkHost(host), `the certificate is for [${own.subjectAltName}], but the host is [${host}]`)
  assert.equal(settings.get('svc.enablePlaintextPort'), false)
  assert.equal(settings.get('svc.metadata.storage.connector.tls.mode'), 'verify-full')
  assert.equal(settings.get('svc.queue.redis.tls.enabled'), true)
  assert.equal(settings.get('svc.queue.redis.password'), passwordFromOutside)
  if (!['router', 'coordinator'].includes(role)) {
    assert.deepEqual(
      [
        settings.get('svc.storage.type'),
        settings.get('svc.indexer.logs.type'),
        settings.get('svc.s3.secretKey'),
      ],
      ['s3', 's3', passwordFromOutside],
    )
  }
  return host
}

describe('the Kubernetes manifests', () => {
  test('match the schemas of their kinds', () => {
    const { $defs } = schema('kubernetes.json')
    const ajv = new Ajv({ strict: false, allErrors: true })
    const groups: Record<string, string> = { v1: 'core.v1', 'apps/v1': 'apps.v1', 'policy/v1': 'policy.v1' }
    for (const manifest of manifests) {
      const group = groups[manifest.apiVersion] ?? manifest.apiVersion.replace('.k8s.io/', '.')
      const definition = `io.k8s.api.${group}.${manifest.kind}`
      assert.ok($defs[definition], definition)
      const validate = ajv.compile({ $defs, $ref: `#/$defs/${definition}` })
      assert.equal(validate({ ...manifest, nosuch: true }), false)
      assert.ok(
        validate(manifest),
        `${manifest.kind} ${manifest.metadata.name}: ${JSON.stringify(validate.errors)}`,
      )
    }
  })

  test('run several servers of each role, on the port of the role', async () => {
    assert.deepEqual(servers.map(roleOf).sort(), roles.toSorted())
    for (const server of servers) {
      assert.ok(server.spec.replicas >= 2)
      const settings = loadSettings(roleOf(server), [], {})
      assert.equal(containerOf(server).ports[0]!.containerPort, settings.get('svc.tlsPort'))
    }
  })

  test('refer only to objects that exist', () => {
    const images = new Set(manifests.flatMap((one) => JSON.stringify(one).match(/"image":"[^"]*"/g) ?? []))
    assert.equal(images.size, 1)
    for (const server of servers) {
      named('Service', server.spec.serviceName)
      const { volumes } = server.spec.template.spec
      for (const { secret, persistentVolumeClaim } of volumes) {
        if (secret) named('Secret', secret.secretName)
        if (persistentVolumeClaim) named('PersistentVolumeClaim', persistentVolumeClaim.claimName)
      }
      const claims = (server.spec.volumeClaimTemplates ?? []).map(({ metadata }) => metadata)
      const known = new Set([...volumes, ...claims].map(({ name }) => name))
      for (const { name } of containerOf(server).volumeMounts) assert.ok(known.has(name), name)
    }
  })

  for (const server of servers) {
    const role = roleOf(server)
    test(`give the ${role} valid properties, and a certificate for its name`, async () => {
      const root = path.join(folder, role)
      for (const { name, secret } of server.spec.template.spec.volumes) {
        if (!secret) continue
        const mount = containerOf(server).volumeMounts.find((candidate) => candidate.name === name)!
        const at = path.join(root, path.relative('/var/lib/svc', mount.mountPath))
        mkdirSync(at, { recursive: true })
        const data = named('Secret', secret.secretName).data as Record<string, string>
        for (const [key, value] of Object.entries(data))
          writeFileSync(path.join(at, key), Buffer.from(value, 'base64'))
      }
      const environment = environmentOf(server)
      assert.equal(await takenBy(role, environment, root), `${role}-0.${role}s.svc.svc`)
      const { volumeMounts } = containerOf(server)
      const isMounted = (file: string) =>
        volumeMounts.some(({ mountPath }) => file === mountPath || file.startsWith(`${mountPath}/`))
      assert.deepEqual(
        pathsIn(environment).filter((file) => !isMounted(file)),
        [],
      )
    })

    test(`run the ${role} without unneeded privileges`, () => {
      const { securityContext, automountServiceAccountToken } = server.spec.template.spec
      assert.equal(automountServiceAccountToken, false)
      const { runAsNonRoot, runAsUser, seccompProfile } = securityContext as Record<string, unknown>
      assert.deepEqual([runAsNonRoot, runAsUser, seccompProfile], [true, 1000, { type: 'RuntimeDefault' }])
      assert.deepEqual(containerOf(server).securityContext, {
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      })
      for (const probe of ['startupProbe', 'readinessProbe', 'livenessProbe'])
        assert.ok(containerOf(server)[probe], probe)
    })
  }

  test('contain secrets only in Secrets', () => {
    const others = JSON.stringify(manifests.filter(({ kind }) => kind !== 'Secret'))
    for (const { data } of ofKind('Secret'))
      for (const value of Object.values(data as Record<string, string>))
        assert.ok(!others.includes(Buffer.from(value, 'base64').toString()))
  })

  test('match what kubectl renders, if it is installed', (t) => {
    let rendered: string
    try {
      rendered = execFileSync('kubectl', ['kustomize', kubernetes], { encoding: 'utf8' })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
      t.diagnostic('kubectl is not installed: skipped the comparison with its output')
      return
    }
    // Removes the content hash from names.
    const unhashed = rendered.replace(/\b(properties|passwords)-[a-z0-9]{10}\b/g, '$1')
    const expectedManifests = parseAllDocuments(unhashed).map((document) => document.toJS() as Manifest)
    // Ignores the order of lists, and line breaks in base64.
    const comparable = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.map((one) => JSON.stringify(comparable(one))).sort()
      if (typeof value === 'string') return value.replaceAll('\n', '')
      if (typeof value !== 'object' || value === null) return value
      return Object.fromEntries(
        Object.entries(value)
          .sort(([left], [right]) => (left < right ? -1 : 1))
          .map(([name, one]) => [name, comparable(one)]),
      )
    }
    const byName = (list: readonly Manifest[]) =>
      Object.fromEntries(list.map((one) => [`${one.kind} ${one.metadata.name}`, comparable(one)]))
    assert.deepEqual(byName(expectedManifests), byName(manifests))
  })
})

describe('the swarm stack', () => {
  interface Service {
    readonly command: readonly [task: string, role: Role]
    readonly environment: Record<string, string>
    readonly secrets: readonly { readonly source: string; readonly target?: string }[]
    readonly volumes: readonly (string | { readonly type: string; readonly target: string })[]
    readonly [field: string]: unknown
  }
  const outside: Record<string, string> = {
    SVC_POSTGRES_HOST: 'postgres.example.com',
    SVC_REDIS_HOST: 'redis.example.com',
    SVC_S3_ENDPOINT: 'https://s3.example.com',
  }
  const text = readFileSync(path.join(repositoryRoot, 'deploy/swarm/stack.yml'), 'utf8').replace(
    /\$\{(\w+):([?-])([^}]*)\}/g,
    (_, name: string, kind: string, rest: string) =>
      outside[name] ?? (kind === '-' ? rest : assert.fail(`no value for ${name}`)),
  )
  const stack = parse(text, { version: '1.1', maxAliasCount: -1 }) as {
    services: Record<string, Service>
    secrets: Record<string, object>
    volumes: Record<string, unknown>
  }
  const services = Object.entries(stack.services)

  test('matches the Compose specification', () => {
    // Skips the names of an earlier JSON Schema draft; the schema refers to its parts by path.
    const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false }).removeKeyword('id')
    const { $schema: _, ...compose } = schema('compose.json') as Record<string, unknown>
    const validate = ajv.compile(compose)
    assert.equal(validate({ ...stack, services: { broken: { nosuch: true } } }), false)
    assert.ok(validate(stack), JSON.stringify(validate.errors))
  })

  test('runs several servers of each role', () => {
    for (const role of roles)
      assert.ok(services.filter(([, { command }]) => command[1] === role).length >= 2, role)
  })

  const certificates = path.join(folder, 'swarm')
  test('has certificates as the guide creates them', () => {
    mkdirSync(certificates)
    for (const role of roles) {
      const hosts = services.filter(([, { command }]) => command[1] === role).map(([name]) => name)
      const args = ['pki', 'issue', role, '--folder', path.join(kubernetes, 'secrets/pki'), '--type', 'pem']
      execFileSync(path.join(repositoryRoot, 'svc'), [...args, '--hosts', hosts.join()], { stdio: 'ignore' })
    }
  })

  for (const [name, service] of services) {
    test(`gives ${name} valid properties, the secrets that they name, and a certificate`, async () => {
      const root = path.join(certificates, name)
      mkdirSync(root)
      for (const { source, target = source } of service.secrets) {
        assert.ok(stack.secrets[source], source)
        const [own, created] = [
          path.join(kubernetes, 'secrets', source),
          path.join(kubernetes, 'secrets/pki', source),
        ]
        cpSync(roles.some((role) => source === `${role}.pem`) ? created : own, path.join(root, target))
      }
      const environment = Object.fromEntries(
        Object.entries(service.environment).map(([key, value]) => [key, String(value)]),
      )
      assert.equal(await takenBy(service.command[1], environment, root), name)
      const volumes = service.volumes.filter((volume) => typeof volume === 'string')
      for (const volume of volumes) assert.ok(volume.split(':')[0]! in stack.volumes, volume)
      const mounted = volumes.map((volume) => volume.split(':')[1]!)
      const own = pathsIn(environment).filter((file) => file.includes(name))
      for (const file of own)
        assert.ok(
          mounted.some((folder) => file.startsWith(`${folder}/`)),
          file,
        )
    })

    test(`runs ${name} without unneeded privileges`, () => {
      assert.deepEqual([service.read_only, service.cap_drop, service.user], [true, ['ALL'], '1000:1000'])
      assert.ok(service.healthcheck)
    })

    test(`gives ${name} no settings that a swarm ignores or applies late`, () => {
      assert.equal(service.tmpfs, undefined)
      assert.ok(service.volumes.some((volume) => typeof volume === 'object' && volume.target === '/tmp'))
      assert.equal(service.hostname, name)
    })
  }
})

describe('docker-compose.yml', () => {
  test('lets every user write to temporary file systems, whatever the base image is', () => {
    const text = readFileSync(path.join(repositoryRoot, 'docker-compose.yml'), 'utf8')
    const { services } = parse(text, { merge: true }) as {
      services: Record<string, { tmpfs: string[]; read_only: boolean }>
    }
    assert.ok(Object.keys(services).length > 10)
    for (const [name, { tmpfs, read_only }] of Object.entries(services)) {
      assert.equal(read_only, true, name)
      for (const mount of tmpfs) assert.match(mount, /^\/[a-z/]+:mode=1777$/, name)
    }
  })
})
