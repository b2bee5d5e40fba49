import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { loadSettings, settingsNotices } from '@svc/shared/config'
import { loadTlsStores } from '@svc/shared/tls'
import { parseOptions, type WrittenOptions } from '../cluster-options/index.ts'
import { homeLayout, openHome } from '../home/index.ts'
import { planCluster, portOffsetOf, portsInUse } from './plan-cluster.ts'
import { ensurePasswords, ensurePlannedCertificates } from './prepare-home.ts'
import { commonPropertiesFile, runtimePropertiesFile, writeConfiguration } from './write-configuration.ts'

const surroundings = { home: homeLayout('/home/cluster'), dataFolder: '/data' }

const plan = (written: WrittenOptions) => planCluster(parseOptions(written), surroundings)

const portCases: { name: string; given: WrittenOptions; expect: [use: string, port: number][] }[] = [
  {
    name: 'the secure profile has only TLS ports',
    given: {},
    expect: [
      ['postgres', 15432],
      ['redis', 16379],
      ['router', 9088],
      ['coordinator', 8281],
      ['overlord', 8290],
      ['broker', 8282],
      ['historical-1', 8283],
    ],
  },
  {
    name: 'the plain profile has only plaintext ports',
    given: { profile: 'plain' },
    expect: [
      ['postgres', 15432],
      ['redis', 16379],
      ['router', 8888],
      ['coordinator', 8081],
      ['overlord', 8090],
      ['broker', 8082],
      ['historical-1', 8083],
    ],
  },
  {
    name: 'an offset shifts every port',
    given: { portOffset: 1000, historicals: 'hot=2', instances: 'coordinator=2' },
    expect: [
      ['postgres', 16432],
      ['redis', 17379],
      ['router', 10088],
      ['coordinator', 9281],
      ['coordinator-2', 9701],
      ['overlord', 9290],
      ['broker', 9282],
      ['historical-hot-1', 9283],
      ['historical-hot-2', 9301],
    ],
  },
  {
    name: 'both kinds of ports',
    given: { set: ['svc.enablePlaintextPort=true'], historicals: 'hot=1,_default_tier=1,cold=1' },
    expect: [
      ['postgres', 15432],
      ['redis', 16379],
      ['router', 8888],
      ['router', 9088],
      ['coordinator', 8081],
      ['coordinator', 8281],
      ['overlord', 8090],
      ['overlord', 8290],
      ['broker', 8082],
      ['broker', 8282],
      ['historical-hot-1', 8083],
      ['historical-hot-1', 8283],
      ['historical-1', 8101],
      ['historical-1', 8301],
      ['historical-cold-1', 8102],
      ['historical-cold-1', 8302],
    ],
  },
]

for (const { name, given, expect } of portCases) {
  test(`ports: ${name}`, () => {
    assert.deepEqual(
      portsInUse(plan(given)).map(({ use, port }) => [use, port]),
      expect,
    )
  })
}

for (const given of [
  {},
  { profile: 'plain' },
  { set: ['svc.enableTlsPort=false', 'svc.enablePlaintextPort=true'] },
  { profile: 'plain', set: ['svc.enableTlsPort=true'] },
  { profile: 'plain', set: ['router.svc.enableTlsPort=true'], instances: 'router=2' },
]) {
  for (const portOffset of [0, 2000]) {
    test(`derives the offset [${portOffset}] from the router URL of ${JSON.stringify(given)}`, () => {
      assert.equal(portOffsetOf(plan({ ...given, portOffset }).routerUrl), portOffset)
    })
  }
}

test('assigns no port twice, even with the max number of instances', () => {
  const all = plan({
    historicals: 'hot=200,cold=160',
    instances: 'coordinator=32,overlord=32,broker=32,router=32,worker=32',
    set: ['svc.enablePlaintextPort=true'],
  })
  const ports = portsInUse(all).map(({ port }) => port)
  assert.equal(ports.length, 2 + 2 * (5 * 32 + 360))
  assert.equal(new Set(ports).size, ports.length)
})

test('refuses more historicals than there are ports', () => {
  assert.throws(() => plan({ historicals: 'hot=200,cold=161' }), {
    code: 'invalidInput',
    message: /Too many servers \[361\] in \[--historicals\]: expected at most 360/,
  })
})

test('the secure profile has logins, an escalator, and a trust store; the plain profile has none', () => {
  const secure = plan({}).common
  assert.equal(secure['svc.auth.authenticatorChain'], '["MyBasicMetadataAuthenticator"]')
  assert.equal(secure['svc.escalator.internalClientUsername'], 'svc_system')
  assert.equal(
    secure['svc.escalator.internalClientPassword'],
    '{"type":"file","path":"/home/cluster/secrets/internal-client-password"}',
  )
  assert.equal(secure['svc.client.https.trustStorePath'], '/home/cluster/pki/authority.pem')
  const plain = plan({ profile: 'plain' })
  assert.equal(plain.hasTls, false)
  assert.deepEqual(
    [plain.common, ...plain.services.map(({ properties }) => properties)]
      .flatMap((properties) => Object.keys(properties))
      .filter((name) => /auth|escalator|https|enable|extensions/.test(name)),
    [],
  )
})

test('clients get a trust store if any service has a TLS port, in any profile', () => {
  const trusted = (given: WrittenOptions) => plan(given).common['svc.client.https.trustStorePath']
  const without = ['svc.enableTlsPort=false', 'svc.enablePlaintextPort=true']
  assert.equal(trusted({ set: without }), undefined)
  assert.equal(trusted({ set: [...without, 'svc.client.https.trustStorePath=/mine'] }), '/mine')
  for (const given of [
    { set: [...without, 'broker.svc.enableTlsPort=true'] },
    { profile: 'plain', set: ['router.svc.enableTlsPort=true'] },
  ])
    assert.equal(trusted(given), '/home/cluster/pki/authority.pem')
})

test('servers use the revocation list if all certificates are issued by the home', () => {
  const read = (given: WrittenOptions) => plan(given).common['svc.client.https.crlPath']
  assert.equal(read({}), '/home/cluster/pki/revoked.crl.pem')
  assert.equal(read({ set: ['svc.client.https.crlPath=/mine'] }), '/mine')
  for (const given of [
    { profile: 'plain' },
    { set: ['svc.client.https.trustStorePath=/mine'] },
    { set: ['router.svc.server.https.keyStorePath=/mine'] },
  ])
    assert.equal(read(given), undefined)
})

test('properties contain no secrets', () => {
  const { common, services } = plan({})
  const properties = [common, ...services.map((service) => service.properties)].flatMap((all) =>
    Object.entries(all),
  )
  const passwords = properties.filter(([name]) => /password$/i.test(name))
  assert.ok(passwords.length >= 9)
  for (const [name, value] of passwords) assert.equal(JSON.parse(value).type, 'file', name)
})

const settingCases: {
  name: string
  set: string[]
  instance: string
  property: string
  expect: string | undefined
}[] = [
  {
    name: 'a setting for all services overrides the default of a role',
    set: ['svc.coordinator.period=PT1S'],
    instance: 'coordinator',
    property: 'svc.coordinator.period',
    expect: 'PT1S',
  },
  {
    name: 'a setting for a role applies to each of its instances',
    set: ['historical.svc.server.maxSize=1g'],
    instance: 'historical-hot-2',
    property: 'svc.server.maxSize',
    expect: '1g',
  },
  {
    name: 'a setting for an instance applies only to that instance',
    set: ['historical-hot-1.svc.server.maxSize=1g'],
    instance: 'historical-hot-2',
    property: 'svc.server.maxSize',
    expect: '10g',
  },
  {
    name: 'a setting for a role overrides one for all services',
    set: ['svc.server.maxSize=2g', 'historical.svc.server.maxSize=1g'],
    instance: 'historical-hot-1',
    property: 'svc.server.maxSize',
    expect: '1g',
  },
  {
    name: 'a setting for another role does not apply',
    set: ['broker.svc.log.level=debug'],
    instance: 'coordinator',
    property: 'svc.log.level',
    expect: undefined,
  },
]

for (const { name, set, instance, property, expect } of settingCases) {
  test(`settings: ${name}`, () => {
    const { common, services } = plan({ set, historicals: 'hot=2' })
    const own = services.find((service) => service.instance === instance)!.properties
    assert.equal({ ...common, ...own }[property], expect)
  })
}

test('refuses a setting for an instance that does not run', () => {
  assert.throws(() => plan({ set: ['historical-hot-1.svc.server.priority=1'] }), {
    code: 'invalidInput',
    message:
      /^Invalid target \[historical-hot-1\] for .*: expected one of the instances \[router\].*\[historical-1\]/,
  })
})

test('a cluster with its own security has no other security properties', () => {
  const set = ['svc.auth.authenticatorChain=["mine"]', 'coordinator.svc.escalator.type=basic']
  const { common, services, hasTls } = plan({ set, hasOwnSecurity: true })
  const names = [common, ...services.map(({ properties }) => properties)].flatMap(Object.keys)
  assert.deepEqual(
    names.filter((name) => /^svc\.(auth|escalator|enable|client|server\.https|extensions)/.test(name)),
    ['svc.auth.authenticatorChain', 'svc.escalator.type'],
  )
  assert.equal(hasTls, false)
})

test('a configured host is used in URLs and certificates', () => {
  const { hosts, routerUrl } = plan({ set: ['svc.host=::1'] })
  assert.deepEqual(hosts, ['::1'])
  assert.equal(routerUrl, 'https://[::1]:9088')
})

for (const { profile, ldap } of [
  { profile: 'secure', ldap: false },
  { profile: 'secure', ldap: true },
  { profile: 'plain', ldap: false },
]) {
  test(`every service accepts its configuration, profile ${profile}${ldap ? ' with a directory' : ''}`, async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'svc plan: '))
    try {
      const home = openHome(folder)
      const set = ['svc.queue.prefix=a=b#c ü', 'svc.request.maxTaskSize=2MiB']
      const planned = planCluster(
        parseOptions({ profile, ldap, historicals: 'hot=2,_default_tier=1', set }),
        {
          home,
          dataFolder: '/data',
        },
      )
      ensurePasswords(home, planned, 'p\\w: "1"')
      await ensurePlannedCertificates(home, planned)
      writeFileSync(path.join(home.conf, 'common.runtime.properties'), 'left=over')
      writeConfiguration(home, planned)
      for (const { role, instance, properties } of planned.services) {
        const settings = loadSettings(
          role,
          [commonPropertiesFile(home), runtimePropertiesFile(home, instance)],
          {},
        )
        assert.deepEqual(settingsNotices(settings), [])
        const stores = await loadTlsStores(settings, Date.now())
        assert.equal(stores.kind, 'loaded', JSON.stringify(stores))
        assert.equal(settings.get('svc.queue.prefix'), 'a=b#c ü')
        assert.equal(settings.get('svc.storage.storageDirectory'), home.deepStorage)
        assert.equal(settings.get('svc.server.tier'), properties['svc.server.tier'] ?? '_default_tier')
        assert.equal(
          settings.getNamed(
            'svc.auth.authenticator.<name>.initialAdminPassword',
            'MyBasicMetadataAuthenticator',
          ),
          profile === 'secure' ? 'p\\w: "1"' : undefined,
        )
      }
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
}

test('the coordinators of a home wait for its historicals and brokers, unless a property lists others', () => {
  const name = 'svc.coordinator.expectedServers'
  const expected = (written: WrittenOptions) =>
    plan(written)
      .services.filter(({ properties }) => name in properties)
      .map(({ instance, properties }) => [instance, JSON.parse(properties[name]!)])
  const servers = ['127.0.0.1:9282', '127.0.0.1:9283', '127.0.0.1:9301']
  assert.deepEqual(expected({ historicals: 'hot=2', instances: 'coordinator=2', portOffset: 1000 }), [
    ['coordinator', servers],
    ['coordinator-2', servers],
  ])
  assert.deepEqual(expected({ profile: 'plain', set: ['svc.host=::1', 'coordinator.svc.log.level=warn'] }), [
    ['coordinator', ['::1:8082', '::1:8083']],
  ])
  assert.deepEqual(expected({ set: [`coordinator.${name}=[]`] }), [['coordinator', []]])
  assert.deepEqual(expected({ set: [`${name}=[]`] }), [])
})

test('an imported home keeps its placement, and waits before it marks overshadowed segments', () => {
  const virtual = { ...surroundings, virtualServers: '[{"name":"a:1","size":1}]' }
  const { services } = planCluster(parseOptions({}), { ...virtual, isImported: true })
  const propertyOf = (role: string, name: string) =>
    services.find((service) => service.role === role)?.properties[name]
  assert.match(propertyOf('historical', 'svc.simulation.placementFile') ?? '', /placement\.jsonl$/)
  assert.equal(propertyOf('coordinator', 'svc.coordinator.waitBeforeMarkingOvershadowed'), 'true')
  const own = planCluster(parseOptions({}), virtual).services
  assert.ok(own.every(({ properties }) => !('svc.simulation.placementFile' in properties)))
})

test('a home of virtual servers has one historical process and no workers', () => {
  const virtualServers = '[{"name":"a:1","size":1}]'
  const { common, services } = planCluster(parseOptions({ set: ['svc.worker.capacity=3'] }), {
    ...surroundings,
    virtualServers,
  })
  assert.equal(common['svc.simulation.enabled'], 'true')
  const of = (instance: string) => services.find((service) => service.instance === instance)?.properties
  assert.equal(of('historical-1')?.['svc.simulation.virtualServers'], virtualServers)
  assert.equal(
    of('overlord')?.['svc.worker.capacity'],
    undefined,
    'a setting for all services overrides the default',
  )
  const unset = planCluster(parseOptions({}), { ...surroundings, virtualServers }).services
  assert.equal(unset.find(({ role }) => role === 'overlord')?.properties['svc.worker.capacity'], '0')
})
