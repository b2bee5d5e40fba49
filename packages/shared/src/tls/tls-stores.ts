import type { ConnectionOptions, SecureContextOptions } from 'node:tls'
import type { Settings } from '../config/index.ts'
import {
  type KeyPair,
  type KeyStoreSource,
  readKeyStore,
  readTrustStore,
  type StoreSource,
} from './key-store.ts'
import { readRevocationLists } from './revocation-lists.ts'
import { maxTlsVersion, minTlsVersion, minTlsVersionOf } from './versions.ts'

/** What a server presents and accepts on its TLS port. */
export interface ServerTls {
  /** Key, chain, trusted client authorities, revoked certificates, protocol versions, and cipher suites. */
  readonly context: SecureContextOptions
  readonly identity: KeyPair
}

/** What a server uses as a client: all options of a TLS connection except the address. */
export type ClientTls = Pick<
  ConnectionOptions,
  'ca' | 'crl' | 'key' | 'cert' | 'minVersion' | 'checkServerIdentity'
>

/** All stores of a server, loaded and checked. */
export interface TlsStores {
  /** Undefined if there is no TLS port. */
  readonly server: ServerTls | undefined
  readonly client: ClientTls
}

/** The stores, or everything that is wrong with them: one sentence per problem, with file and property. */
export type LoadedStores =
  | { readonly kind: 'loaded'; readonly stores: TlsStores }
  | { readonly kind: 'faulty'; readonly problems: readonly string[] }

/**
 * The currently recommended cipher suites: forward secrecy and authenticated encryption only (Mozilla's intermediate
 * recommendation without finite-field Diffie-Hellman).
 */
const suites = [
  'TLS_AES_128_GCM_SHA256',
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
].join(':')

// The drivers read these when they connect; checking them here reports problems at startup.
const storeAuthorities = ['svc.metadata.storage.connector.tls.caPath', 'svc.queue.redis.tls.caPath'] as const

// Key exchange groups with at least 128 bits of strength. The first is also post-quantum; OpenSSL 3.5 added it, which is
// newer than that of Node.js 22.
const [major = 0, minor = 0] = process.versions.openssl.split('.').map(Number)
const hasPostQuantumGroup = major > 3 || (major === 3 && minor >= 5)
const groups = `${hasPostQuantumGroup ? 'X25519MLKEM768:' : ''}X25519:prime256v1:secp384r1`

/** Returns the paths of all store files. */
export function storeFiles(settings: Settings): readonly string[] {
  const paths = [settings.get('svc.client.https.trustStorePath'), settings.get('svc.client.https.crlPath')]
  paths.push(settings.get('svc.client.https.keyStorePath'))
  if (settings.get('svc.enableTlsPort')) {
    paths.push(settings.get('svc.server.https.keyStorePath'), settings.get('svc.server.https.crlPath'))
    paths.push(settings.get('svc.server.https.trustStorePath'))
  }
  return paths.filter((path) => path !== undefined)
}

/**
 * Reads all stores of a server at the time `now` (epoch milliseconds). Skips stores with a property in `faulty`: these
 * problems have already been reported.
 */
export async function loadTlsStores(
  settings: Settings,
  now: number,
  faulty: ReadonlySet<string> = new Set(),
): Promise<LoadedStores> {
  const problems: string[] = []
  const attempt: Attempt = async (properties, read) => {
    if (properties.some((name) => faulty.has(name))) return undefined
    try {
      return await read()
    } catch (error) {
      problems.push((error as Error).message)
      return undefined
    }
  }
  const server = settings.get('svc.enableTlsPort')
    ? await readSide(settings, 'server', now, attempt)
    : undefined
  const client = await readSide(settings, 'client', now, attempt)
  for (const property of storeAuthorities) {
    const path = settings.get(property)
    if (path !== undefined)
      await attempt([property], () => readTrustStore({ path, type: 'pem', password: '', property }))
  }
  if (problems.length > 0) return { kind: 'faulty', problems }
  return {
    kind: 'loaded',
    stores: { server: server && serverTls(server), client: clientTls(settings, client) },
  }
}

/** Reads a store with these properties; undefined if it is invalid. */
type Attempt = <Result>(
  properties: readonly string[],
  read: () => Result | Promise<Result>,
) => Promise<Result | undefined>

/** The stores of one side of a connection. */
interface SideStores {
  readonly pair: KeyPair | undefined
  readonly trusted: readonly string[] | undefined
  readonly revoked: readonly string[] | undefined
}

async function readSide(
  settings: Settings,
  name: 'server' | 'client',
  now: number,
  attempt: Attempt,
): Promise<SideStores> {
  const keyStore = keyStoreOf(settings, name)
  const trustStore = trustStoreOf(settings, name)
  const crlProperty = `svc.${name}.https.crlPath` as const
  const crlPath = settings.get(crlProperty)
  const propertiesOf = (...ends: string[]) => ends.map((end) => `svc.${name}.https.${end}`)
  const keyProperties = [
    'keyStorePath',
    'keyStoreType',
    'keyStorePassword',
    'certAlias',
    'keyManagerPassword',
  ]
  const trustProperties = ['trustStorePath', 'trustStoreType', 'trustStorePassword']
  return {
    pair: keyStore && (await attempt(propertiesOf(...keyProperties), () => readKeyStore(keyStore, now))),
    trusted:
      trustStore && (await attempt(propertiesOf(...trustProperties), () => readTrustStore(trustStore))),
    revoked:
      crlPath === undefined
        ? undefined
        : await attempt([crlProperty], () => readRevocationLists(crlPath, crlProperty)),
  }
}

const serverTls = (stores: SideStores): ServerTls | undefined =>
  stores.pair && {
    identity: stores.pair,
    context: {
      ...stores.pair,
      ...authoritiesOf(stores),
      minVersion: minTlsVersion,
      maxVersion: maxTlsVersion,
      ciphers: suites,
      ecdhCurve: groups,
      honorCipherOrder: true,
    },
  }

const clientTls = (settings: Settings, stores: SideStores): ClientTls => ({
  ...stores.pair,
  ...authoritiesOf(stores),
  minVersion: minTlsVersionOf(settings.get('svc.client.https.protocol')),
  ...(settings.get('svc.client.https.validateHostnames') ? {} : { checkServerIdentity: () => undefined }),
})

function authoritiesOf({ trusted, revoked }: SideStores): Pick<SecureContextOptions, 'ca' | 'crl'> {
  return {
    ...(trusted ? { ca: [...trusted] } : {}),
    ...(revoked ? { crl: [...revoked] } : {}),
  }
}

function keyStoreOf(settings: Settings, name: 'server' | 'client'): KeyStoreSource | undefined {
  const path = settings.get(`svc.${name}.https.keyStorePath`)
  if (path === undefined) return undefined
  return {
    path,
    type: settings.get(`svc.${name}.https.keyStoreType`),
    password: settings.get(`svc.${name}.https.keyStorePassword`) ?? '',
    keyPassword: settings.get(`svc.${name}.https.keyManagerPassword`),
    alias: settings.get(`svc.${name}.https.certAlias`),
    property: `svc.${name}.https.keyStorePath`,
  }
}

function trustStoreOf(settings: Settings, name: 'server' | 'client'): StoreSource | undefined {
  const path = settings.get(`svc.${name}.https.trustStorePath`)
  if (path === undefined) return undefined
  return {
    path,
    type: settings.get(`svc.${name}.https.trustStoreType`),
    password: settings.get(`svc.${name}.https.trustStorePassword`) ?? '',
    property: `svc.${name}.https.trustStorePath`,
  }
}
