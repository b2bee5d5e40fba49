import type { X509Certificate } from 'node:crypto'
import { flagOf, type Server, secretOf, textOf } from './configuration.ts'
import { addressesOf, directoriesOf } from './logins.ts'
import type { Secret } from './secret.ts'

/** The three parts of a server that have stores. */
export type StoreOwner = 'druid.server.https' | 'druid.client.https' | 'druid.auth.basic.ssl'

/** A store that Java opens. */
export interface StoreUse {
  readonly kind: 'key' | 'trust'
  /** The property with its path, such as `druid.server.https.keyStorePath`. */
  readonly property: string
  readonly path: string
  readonly password: Secret | undefined
  readonly keyPassword: Secret | undefined
  readonly alias: string | undefined
}

/** A store that a server opens. */
export interface OwnedStoreUse extends StoreUse {
  readonly owner: StoreOwner
}

/** A private key in a store. */
export interface StoredKey {
  readonly alias: string
  /** Whether the first certificate of the chain belongs to the key. */
  readonly matches: boolean
  readonly chain: readonly X509Certificate[]
}

/** A certificate that a server presents, with those of its issuers. */
export interface ServedChain {
  readonly use: StoreUse
  readonly certificate: X509Certificate
  readonly chain: readonly X509Certificate[]
}

/** What a store contains, or why it cannot be opened. */
export type StoreContent =
  | { readonly kind: 'missing'; readonly file: string }
  /** `is` says what it is, such as `a folder`. */
  | { readonly kind: 'notAFile'; readonly is: string }
  | { readonly kind: 'closed'; readonly reason: 'password' | 'keyPassword' | 'format' }
  | {
      readonly kind: 'open'
      readonly keys: readonly StoredKey[]
      readonly trusted: readonly X509Certificate[]
    }

/** Returns whom a server cannot talk to if one of its stores is not usable. */
export function lockedOutBy({ owner, kind }: OwnedStoreUse): string {
  if (owner === 'druid.auth.basic.ssl') return 'directory users'
  return owner === 'druid.server.https' && kind === 'key' ? 'everyone' : 'the servers'
}

/** Returns whether a server has a TLS port. */
export const servesTls = (server: Server): boolean => flagOf(server, 'druid.enableTlsPort', false)

/** Returns whether a server requests certificates from its clients. */
export const requestsCertificates = (server: Server): boolean =>
  servesTls(server) &&
  ['require', 'request'].some((verb) => flagOf(server, `druid.server.https.${verb}ClientCertificate`, false))

/** Returns whether a server connects to a directory with TLS. */
export const usesLdaps = (server: Server): boolean =>
  directoriesOf(server).some((one) => addressesOf(server, one).some(({ isTls }) => isTls))

/** Returns the stores that a server opens, if their paths are set and known. */
export function storeUses(server: Server): readonly OwnedStoreUse[] {
  return [
    ...(servesTls(server) ? storesAt(server, 'druid.server.https', 'key') : []),
    ...(requestsCertificates(server) ? storesAt(server, 'druid.server.https', 'trust') : []),
    ...storesAt(server, 'druid.client.https', 'trust'),
    ...storesAt(server, 'druid.client.https', 'key'),
    ...(usesLdaps(server) ? storesAt(server, 'druid.auth.basic.ssl', 'trust') : []),
  ]
}

function storesAt(server: Server, owner: StoreOwner, kind: StoreUse['kind']): OwnedStoreUse[] {
  const property = `${owner}.${kind}StorePath`
  const path = textOf(server, property)
  if (path === undefined) return []
  const password = secretOf(server, `${owner}.${kind}StorePassword`)
  const isKey = kind === 'key'
  return [
    {
      owner,
      kind,
      property,
      path,
      password,
      keyPassword: isKey ? (secretOf(server, `${owner}.keyManagerPassword`) ?? password) : password,
      alias: isKey ? textOf(server, `${owner}.certAlias`) : undefined,
    },
  ]
}

/** Returns the trust store in the options of Java; undefined if there is none, or if it is not a file. */
export function javaTrustStore(server: Server): StoreUse | undefined {
  const property = 'javax.net.ssl.trustStore'
  const path = textOf(server, property)
  const type = textOf(server, `${property}Type`) ?? 'pkcs12'
  if (path === undefined || path === 'NONE' || !/^(jks|pkcs12)$/i.test(type)) return undefined
  const password = secretOf(server, `${property}Password`)
  return { kind: 'trust', property, path, password, keyPassword: password, alias: undefined }
}

/** Returns the certificate that a server presents on its TLS port, with its chain. */
export function servedChain(
  server: Server,
  storeOf: (use: StoreUse) => StoreContent | undefined,
): ServedChain | undefined {
  const use = storeUses(server).find(({ owner, kind }) => owner === 'druid.server.https' && kind === 'key')
  const chain = use && usedKey(storeOf(use), use.alias)?.chain
  const certificate = chain?.[0]
  return use && chain && certificate ? { use, certificate, chain } : undefined
}

/** Returns the key that a server uses: that with the alias, or the first one. */
export function usedKey(content: StoreContent | undefined, alias: string | undefined): StoredKey | undefined {
  if (content?.kind !== 'open') return undefined
  if (alias === undefined) return content.keys[0]
  return content.keys.find((key) => key.alias.toLowerCase() === alias.toLowerCase())
}

/**
 * Returns whether a client with these authorities accepts a chain; `incomplete` if neither the server sends the next
 * issuer nor the client knows it.
 */
export function trustIn(
  chain: readonly X509Certificate[],
  authorities: readonly X509Certificate[],
): 'trusted' | 'untrusted' | 'incomplete' {
  for (const [index, certificate] of chain.entries()) {
    const isKnown = authorities.some(
      (authority) =>
        authority.fingerprint256 === certificate.fingerprint256 ||
        (certificate.checkIssued(authority) && certificate.verify(authority.publicKey)),
    )
    if (isKnown) return 'trusted'
    const next = chain[index + 1]
    if (next === undefined || !certificate.checkIssued(next))
      return certificate.checkIssued(certificate) ? 'untrusted' : 'incomplete'
  }
  return 'incomplete'
}
