import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { cpSync, mkdirSync, readdirSync, readFileSync, renameSync } from 'node:fs'
import { connect } from 'node:net'
import path from 'node:path'
import { createServer, type Server } from 'node:tls'
import { fileURLToPath } from 'node:url'
import type { ExamineOptions } from '../doctor/index.ts'
import { startDirectory } from '../ldap/index.ts'
import { pkiTools } from '../pki/index.ts'

const root = fileURLToPath(new URL('../doctor/configurations', import.meta.url))
const dayMs = 24 * 60 * 60 * 1000

/** The time of tests that do not start clusters. */
const fixedNow = Date.parse('2026-11-01T00:00:00Z')

/** When certificates begin and end to be valid, in days from now. */
const validities = { valid: [-30, 365], expired: [-30, -5], soon: [-30, 10], future: [5, 365] } as const

/** A store of a configuration, which the tests create. */
export interface StoreRecipe {
  readonly type: 'jks' | 'pkcs12'
  readonly password: string
  /** The alias and hosts of the key; none in a trust store. */
  readonly alias?: string
  readonly hosts?: readonly string[]
  readonly issuer?: 'authority' | 'intermediate' | 'other'
  readonly withoutIssuer?: boolean
  readonly validity?: keyof typeof validities
  /** Whether the key belongs to another certificate. */
  readonly isMismatched?: boolean
  readonly trusted?: readonly ('authority' | 'other')[]
}

/** A configuration folder for tests, and what the doctor should find in it. */
export interface TestConfiguration {
  readonly name: string
  readonly kind: 'good' | 'broken'
  /** The configuration folder below the installation folder. */
  readonly folder: string
  readonly environment: Readonly<Record<string, string>>
  readonly stores: Readonly<Record<string, StoreRecipe>>
  readonly findings: readonly { readonly code: string; readonly place: string; readonly up: string }[]
  /** What a cluster with the configuration does, by the name of a test in svc-settings.test.ts; only of broken ones. */
  readonly symptom?: Readonly<Record<string, string>>
}

/** Returns all configurations for tests. */
export const testConfigurations = (): TestConfiguration[] =>
  (['good', 'broken'] as const).flatMap((kind) =>
    readdirSync(path.join(root, kind)).map((name) => ({
      name,
      kind,
      ...JSON.parse(readFileSync(path.join(root, kind, name, 'expected.json'), 'utf8')),
    })),
  )

/** Creates the surroundings of the configurations: certificates, issued at `now`, and a directory. Stop it at the end. */
export async function startSurroundings(scratch: string, now = fixedNow) {
  const tools = await pkiTools()
  const { issuers, issue, serverKey, otherKey } = createAuthorities(tools, now)

  function writeStore(file: string, recipe: StoreRecipe): void {
    const { type, password, alias, hosts, isMismatched, trusted = [] } = recipe
    const folder = path.dirname(file)
    mkdirSync(folder, { recursive: true })
    const certificates = Object.fromEntries(trusted.map((name) => [name, issuers[name].certificatePem]))
    if (alias === undefined || hosts === undefined) {
      const files = tools.writeTrustStores(folder, 'new', certificates, password, now)
      renameSync(files[type === 'jks' ? 0 : 1] as string, file)
      return
    }
    const key = isMismatched ? otherKey : serverKey
    const entry = { name: alias, key, chain: issue(hosts, recipe) }
    const [written] = tools.writeKeyStores(folder, entry, [type], password, now)
    renameSync(written as string, file)
  }

  const directory = await startDirectory(directoryContent, 0)
  const relay = await relayWithTls(issue(['ldap.example.com', '127.0.0.1'], {}), serverKey, directory.url)
  return {
    /** Copies a configuration with its stores, and returns how to examine it. */
    prepare(configuration: TestConfiguration): ExamineOptions {
      const { kind, name, stores, environment, folder } = configuration
      const copy = path.join(scratch, name)
      cpSync(path.join(root, kind, name), copy, { recursive: true })
      for (const [file, recipe] of Object.entries(stores)) writeStore(path.join(copy, file), recipe)
      const address = relay.address() as { readonly port: number }
      // None of the servers runs.
      const closed = hosts.flatMap((host) =>
        tlsPorts.map((port) => `${host}.example.com:${port}=127.0.0.1:9`),
      )
      const maps = [
        ...closed,
        `/opt/druid=${copy}`,
        `/stackable=${copy}`,
        `ldap.example.com:636=127.0.0.1:${address.port}`,
      ]
      return { folder: path.join(copy, folder), environment, maps, isOffline: false, now }
    },
    writeStore,
    async stop() {
      relay.close()
      await directory.stop()
    },
  }
}

/** Creates authorities, and a function that issues certificates for the key of all servers. */
function createAuthorities(tools: Awaited<ReturnType<typeof pkiTools>>, now: number) {
  const valid = { notBefore: now - 30 * dayMs, notAfter: now + 365 * dayMs }
  const newPair = () => generateKeyPairSync('rsa', { modulusLength: 2048 })
  const [rootPair, otherPair, middlePair, serverPair] = [newPair(), newPair(), newPair(), newPair()]
  const authority = authorityOf(
    tools.issueAuthority({ ...rootPair, ...valid, name: 'Example root' }),
    rootPair,
  )
  const other = authorityOf(tools.issueAuthority({ ...otherPair, ...valid, name: 'Other root' }), otherPair)
  const middlePem = tools.issueIntermediate(authority, {
    ...valid,
    publicKey: middlePair.publicKey,
    name: 'Example servers',
  })
  const intermediate = authorityOf(middlePem, middlePair)
  const issuers = { authority, other, intermediate }
  const chains = { authority: [authority], other: [other], intermediate: [intermediate, authority] }
  const issue = (
    hosts: readonly string[],
    { issuer = 'authority', validity = 'valid', withoutIssuer }: Partial<StoreRecipe>,
  ) => {
    const [from, to] = validities[validity]
    const certificate = tools.issueCertificate(issuers[issuer], {
      publicKey: serverPair.publicKey,
      name: hosts[0] ?? 'nobody',
      hosts,
      notBefore: now + from * dayMs,
      notAfter: now + to * dayMs,
    })
    const rest = withoutIssuer ? [] : chains[issuer].map(({ certificatePem }) => certificatePem)
    return [certificate, ...rest]
  }
  return { issuers, issue, serverKey: serverPair.privateKey, otherKey: otherPair.privateKey }
}

const authorityOf = (certificatePem: string, { privateKey }: { readonly privateKey: KeyObject }) => ({
  certificatePem,
  key: privateKey,
})

/** The directory of the tests has no TLS port, so this adds one. */
async function relayWithTls(chain: readonly string[], key: KeyObject, url: string): Promise<Server> {
  const pem = key.export({ type: 'pkcs8', format: 'pem' })
  const relay = createServer({ key: pem, cert: chain.join('') }, (socket) => {
    const onward = connect(Number(new URL(url.replace('ldap', 'http')).port), '127.0.0.1')
    socket.pipe(onward).pipe(socket)
    for (const end of [socket, onward]) end.on('error', () => [socket, onward].map((one) => one.destroy()))
  })
  await new Promise<void>((resolve) => relay.listen(0, '127.0.0.1', resolve))
  return relay
}

const hosts = ['druid', 'druid-0.druid', 'historical-2.druid'].concat(
  ['coordinator', 'historical', 'middlemanager', 'broker', 'router'].map((host) => `${host}.druid`),
)
const tlsPorts = [8200, 8281, 8282, 8283, 8291, 9088]

const suffix = 'dc=example,dc=com'
const person = (uid: string) => ({
  dn: `uid=${uid},ou=users,${suffix}`,
  password: `${uid}-password`,
  attributes: { objectClass: ['inetOrgPerson'], uid: [uid], cn: [uid], sn: [uid] },
})
const directoryContent = {
  suffix,
  bindDn: `cn=search,${suffix}`,
  bindPassword: 'bD3-directory-bind-64',
  // The password that the servers have in the configuration with a directory only.
  entries: [person('alice'), { ...person('druid-internal'), password: 'iN5-internal-user-30' }],
}
