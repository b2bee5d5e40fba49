import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, describe, it } from 'node:test'
import { connect, createServer } from 'node:tls'
import { type LoginVerdict, walkChainNow } from '@svc/domain/access'
import { ConfigurationError, loadSettings, type Settings, settingsNotices } from '@svc/shared/config'
import { loginChain, openLdapLogins, unsecuredPaths } from '@svc/shared/security'
import { loadTlsStores } from '@svc/shared/tls'
import {
  commonPropertiesFile,
  parseOptions,
  planCluster,
  portsInUse,
  runtimePropertiesFile,
  writeConfiguration,
} from '../cluster/index.ts'
import { ensureSecret, homeLayout, openHome } from '../home/index.ts'
import { startSurroundings, type TestConfiguration, testConfigurations } from '../testing/index.ts'
import type { Finding } from './findings.ts'
import { examine, refusalText, svcSettings } from './index.ts'
import { readLocationMap } from './location-map.ts'

const scratch = mkdtempSync(path.join(tmpdir(), 'svc-doctor-up-'))
const surroundings = await startSurroundings(scratch)
after(async () => {
  await surroundings.stop()
  rmSync(scratch, { recursive: true })
})

type Role = 'coordinator' | 'historical'

/** A cluster as `./svc up --config` plans it: how to read its settings, and which ports it opens. */
interface PlannedCluster {
  settingsOf(role: Role): Settings
  readonly ports: readonly number[]
  readonly now: number
  readonly notices: readonly string[]
  /** What `./svc up --config` prints instead of starting the cluster. */
  readonly refusal: string
  readonly findings: readonly Finding[]
}

async function plan(configuration: TestConfiguration): Promise<PlannedCluster> {
  const options = surroundings.prepare(configuration)
  const examination = await examine({ ...options, isOffline: true })
  const { set, profile, notices } = svcSettings(examination)
  const home = openHome(path.join(scratch, `home-of-${configuration.name}`))
  ensureSecret(home, 'postgres-password')
  ensureSecret(home, 'redis-password')
  ensureSecret(home, 'key-store-password')
  const written = parseOptions({ set: [...set], profile, hasOwnSecurity: true })
  const planned = planCluster(written, { home: homeLayout(home.root), dataFolder: scratch })
  writeConfiguration(home, planned)
  const instances = { coordinator: 'coordinator', historical: 'historical-1' }
  return {
    settingsOf: (role) =>
      loadSettings(role, [commonPropertiesFile(home), runtimePropertiesFile(home, instances[role])], {}),
    ports: portsInUse(planned).map(({ port }) => port),
    now: options.now,
    notices,
    refusal: refusalText(examination) ?? '',
    findings: (await examine(options)).findings,
  }
}

const passwordOf = (
  settings: Settings,
  name: string,
  end: 'initialAdminPassword' | 'initialInternalClientPassword',
) => settings.getNamed(`svc.auth.authenticator.<name>.${end}`, name)

/** Logs in at a server whose users are those that a new metadata store has. */
function login(settings: Settings, user: string, password: string | undefined): string {
  const storedBy = (authenticator: string) =>
    passwordOf(
      settings,
      authenticator,
      user === 'admin' ? 'initialAdminPassword' : 'initialInternalClientPassword',
    )
  const answer = (authenticator: string): LoginVerdict =>
    storedBy(authenticator) === password ? { kind: 'known', identity: user, groups: [] } : { kind: 'wrong' }
  const outcome = walkChainNow(
    loginChain(settings),
    (authenticator) => storedBy(authenticator) !== undefined,
    user,
    ({ authenticator }) => answer(authenticator),
  )
  return outcome?.kind ?? 'none'
}

/** Connects to a server as the other servers do, and returns the code of the error. */
async function handshake({ settingsOf, now }: PlannedCluster, host: string): Promise<string> {
  const loaded = await loadTlsStores(settingsOf('historical'), now)
  assert.equal(loaded.kind, 'loaded')
  const { server, client } = (loaded as Extract<typeof loaded, { kind: 'loaded' }>).stores
  const listener = createServer(server!.context)
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  listener.on('tlsClientError', () => undefined)
  const { port } = listener.address() as { readonly port: number }
  const socket = connect({ ...client, host: '127.0.0.1', port, servername: host })
  const code = await new Promise<string>((resolve) => {
    socket.once('secureConnect', () => resolve('connected'))
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
  })
  socket.destroy()
  listener.close()
  return code
}

/** Each returns what a cluster shows. */
const symptoms: Readonly<Record<string, (cluster: PlannedCluster, expected: string) => unknown>> = {
  refusedConfiguration: ({ settingsOf }) => {
    try {
      settingsOf('coordinator')
      return 'accepted'
    } catch (error) {
      assert(error instanceof ConfigurationError)
      return error.message
    }
  },
  refusedStores: async ({ settingsOf, now }) => {
    const loaded = await loadTlsStores(settingsOf('coordinator'), now)
    return loaded.kind === 'faulty' ? loaded.problems.join('\n') : 'loaded'
  },
  refusedFinding: ({ refusal }) => refusal,
  notice: ({ settingsOf }) => settingsNotices(settingsOf('coordinator')).join('\n'),
  loginOfHistorical: ({ settingsOf }) => {
    const password = settingsOf('historical').get('svc.escalator.internalClientPassword')
    return login(settingsOf('coordinator'), 'druid_system', password)
  },
  loginWithDefaults: ({ settingsOf }) => login(settingsOf('coordinator'), 'admin', 'password1'),
  openPath: ({ settingsOf }, path) => (unsecuredPaths(settingsOf('coordinator'))(path) ? path : 'closed'),
  openPort: ({ ports }) => ports.join(' '),
  handshake: (cluster) => handshake(cluster, 'historical-2.druid.example.com'),
  directory: async ({ settingsOf }) => {
    const logins = await openLdapLogins(
      settingsOf('coordinator'),
      () => 0,
      () => undefined,
    )
    return (await logins.get('ldap')!.verify('alice', 'alice-password')).kind
  },
}

/** What the findings say about each symptom. */
const statementsOf: Readonly<Record<string, (expected: string) => RegExp>> = {
  refusedConfiguration: () => /Refuses to start, (although Druid starts|because Druid does not)/,
  refusedStores: () => /Refuses to start, because (svc checks all stores|Druid does not start either)/,
  refusedFinding: () => /Refuses to start, because Druid does not start either/,
  notice: () => /Starts, with the same effect\. .*cannot log in/,
  loginOfHistorical: () => /does not become ready/,
  loginWithDefaults: () => /Starts, with the same effect\. Anyone who tries well-known passwords/,
  openPath: () => /Starts, with the same effect\. .*without logging in/,
  openPort: () => /Starts, with the same effect\. .*without TLS/,
  handshake: () => /TLS connections between them fail/,
  directory: (expected) =>
    expected === 'unavailable' ? /Starts, but .*status 503/ : /Starts, with the same effect\. .*status 401/,
}

describe('a cluster with the security of a Druid configuration', () => {
  for (const configuration of testConfigurations().filter(({ kind }) => kind === 'broken'))
    it(`shows the symptom of ${configuration.name}`, async () => {
      const [[name, expected] = ['', '']] = Object.entries(configuration.symptom ?? {})
      const cluster = await plan(configuration)
      const shown = String(await symptoms[name]!(cluster, expected))
      assert.match(shown, new RegExp(expected))
      const statements = cluster.findings.map(({ up, effect }) => `${up.text} ${effect}`).join(' ')
      assert.match(statements, statementsOf[name]!(expected), 'the findings announce the symptom')
      const isRefused = name.startsWith('refused')
      assert.equal(
        cluster.findings.some(({ up }) => !up.starts),
        isRefused,
      )
      assert.equal(cluster.refusal !== '', isRefused)
    })

  for (const configuration of testConfigurations().filter(({ kind }) => kind === 'good'))
    it(`accepts ${configuration.name}`, async () => {
      const { settingsOf, ports } = await plan(configuration)
      const settings = settingsOf('historical')
      const user = settings.get('svc.escalator.internalClientUsername')
      const usesDirectory = configuration.name === 'directory-only'
      if (!usesDirectory)
        assert.equal(
          login(settingsOf('coordinator'), user, settings.get('svc.escalator.internalClientPassword')),
          'known',
        )
      const logins = await openLdapLogins(
        settings,
        () => 0,
        () => undefined,
      )
      for (const directory of logins.values())
        assert.equal((await directory.verify('alice', 'alice-password')).kind, 'known')
      assert(!ports.includes(8083))
    })

  it('names the properties whose values have spaces around them', () => {
    const place = { file: 'common', line: 1, secret: undefined, referred: [], problem: undefined }
    const written = {
      'druid.auth.authenticator.stored.authorizerName': 'roles ',
      'druid.auth.authenticator.stored.skipOnFailure': 'True ',
    }
    const properties = new Map(
      Object.entries(written).map(([name, value]) => [name, { ...place, name, value }] as const),
    )
    const configuration = {
      commonFile: 'common',
      servers: [{ name: 'broker', file: 'common', properties }],
      repetitions: [],
      continuations: [],
      invalidEscapes: [],
    }
    const { notices, set } = svcSettings({ configuration, locations: readLocationMap([], '.'), findings: [] })
    assert.deepEqual(notices, [
      'svc ignores the spaces around the values of these properties, but in Druid they are part of the values: [druid.auth.authenticator.stored.authorizerName]',
    ])
    assert.deepEqual(set, [
      'svc.auth.authenticator.stored.authorizerName=roles',
      'svc.auth.authenticator.stored.skipOnFailure=true',
    ])
  })

  it('names the properties that svc does not have', async () => {
    const { notices } = await plan(testConfigurations().find(({ name }) => name === 'kubernetes')!)
    assert.deepEqual(notices, [
      'The key stores and trust stores are for other hosts, so this cluster uses its own certificates for 127.0.0.1 and does not require client certificates',
    ])
  })
})
