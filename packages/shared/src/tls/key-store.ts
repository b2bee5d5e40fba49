import { createPrivateKey, createPublicKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { readStoreEntries } from './read-store-entries.ts'
import type { StoreEntries } from './store-entries.ts'

/** The private key and certificate chain that one side of a connection presents, as PEM. */
export interface KeyPair {
  readonly key: string
  readonly cert: string
}

/** A file with certificates or keys, and the property that sets its path. */
export interface StoreSource {
  readonly path: string
  readonly type: 'jks' | 'pkcs12' | 'pem'
  readonly password: string
  /** The property that sets the path, for messages; for example, `svc.server.https.keyStorePath`. */
  readonly property: string
}

/** A key store. The key with the alias `alias` is used, or the first key if it is undefined. */
export interface KeyStoreSource extends StoreSource {
  readonly alias: string | undefined
  /** The password of the key, if it differs from that of the store. */
  readonly keyPassword: string | undefined
}

const certificatePattern = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

type Problem = (text: string) => Error

/** Returns the key and chain of a key store. Throws a plain error that names the file and the property. */
export async function readKeyStore(source: KeyStoreSource, now: number): Promise<KeyPair> {
  const problem: Problem = (text) =>
    new Error(`The key store [${source.path}] from [${source.property}] ${text}`)
  const bytes = readStore(source.path, problem)
  const pair =
    source.type === 'pem' ? readPemPair(bytes, source, problem) : await readStoredPair(bytes, source, problem)
  const leaf = leafOf(pair)
  if (!leaf) throw problem('contains no certificate')
  const dateProblem = validityProblem(leaf, now)
  if (dateProblem) throw problem(dateProblem)
  if (!leaf.publicKey.equals(createPublicKey(createPrivateKey(pair.key))))
    throw problem('contains a private key that does not match its certificate')
  return pair
}

/** Returns the certificates of a trust store, as PEM. Throws a plain error that names the file and the property. */
export async function readTrustStore(source: StoreSource): Promise<readonly string[]> {
  const problem: Problem = (text) =>
    new Error(`The trust store [${source.path}] from [${source.property}] ${text}`)
  const bytes = readStore(source.path, problem)
  const certificates =
    source.type === 'pem'
      ? (bytes.toString('latin1').match(certificatePattern) ?? [])
      : Object.values(await openStore(bytes, source.password, source.password, problem)).flatMap(
          ({ ca, cert }) => (ca ?? cert ?? '').match(certificatePattern) ?? [],
        )
  if (certificates.length === 0) throw problem('contains no certificate')
  return certificates
}

/** Returns the first certificate of a key pair; undefined if there is none. */
export function leafOf({ cert }: KeyPair): X509Certificate | undefined {
  return certificatesIn(cert)[0]
}

/** Returns the PEM certificates in a text, in order. */
export function certificatesIn(text: string): X509Certificate[] {
  return (text.match(certificatePattern) ?? []).map((certificate) => new X509Certificate(certificate))
}

/** Returns why a certificate is not valid at a time (epoch milliseconds); undefined if it is valid. */
export function validityProblem(certificate: X509Certificate, now: number): string | undefined {
  if (certificate.validToDate.getTime() < now)
    return `contains a certificate that expired on [${certificate.validTo}]`
  if (certificate.validFromDate.getTime() > now)
    return `contains a certificate that is not valid before [${certificate.validFrom}]`
  return undefined
}

function readStore(path: string, problem: Problem): Buffer {
  try {
    return readFileSync(path)
  } catch (error) {
    throw problem(`cannot be read (${(error as NodeJS.ErrnoException).code})`)
  }
}

function readPemPair(
  bytes: Buffer,
  { password, keyPassword, alias, property }: KeyStoreSource,
  problem: Problem,
): KeyPair {
  if (alias !== undefined) {
    throw problem(
      `is in PEM format, which has no aliases, but [${aliasProperty(property)}] is [${alias}]; remove this property`,
    )
  }
  const text = bytes.toString('latin1')
  const encrypted = /-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]+-----END [A-Z ]*PRIVATE KEY-----/.exec(text)
  if (!encrypted) throw problem('contains no private key')
  try {
    const key = createPrivateKey({ key: encrypted[0], passphrase: keyPassword ?? password })
    return {
      key: key.export({ type: 'pkcs8', format: 'pem' }) as string,
      cert: (text.match(certificatePattern) ?? []).join('\n'),
    }
  } catch {
    const name = property.replace(/Path$/, 'Password')
    throw problem(`contains a private key that cannot be decrypted; check [${name}]`)
  }
}

async function readStoredPair(
  bytes: Buffer,
  { password, keyPassword, alias, property }: KeyStoreSource,
  problem: Problem,
): Promise<KeyPair> {
  const entries = await openStore(bytes, password, keyPassword ?? password, problem)
  const names = Object.keys(entries).filter((name) => entries[name]?.key !== undefined)
  const name =
    alias === undefined
      ? names[0]
      : names.find((candidate) => candidate.toLowerCase() === alias.toLowerCase())
  const entry = name === undefined ? undefined : entries[name]
  if (!entry?.key || !entry.cert) {
    throw problem(
      alias === undefined
        ? 'contains no private key'
        : `has no key with the alias [${alias}] from [${aliasProperty(property)}]; the store has the aliases [${names.join(', ')}]`,
    )
  }
  const others = Object.values(entries).flatMap(({ ca }) => certificatesIn(ca ?? ''))
  return { key: entry.key, cert: withIssuers(certificatesIn(entry.cert), others).map(String).join('') }
}

const aliasProperty = (property: string): string => property.replace(/keyStorePath$/, 'certAlias')

/**
 * Returns a chain with the issuers that `others` contains. A PKCS12 store keeps the certificates of issuers as separate
 * entries.
 */
export function withIssuers(
  stored: readonly X509Certificate[],
  others: readonly X509Certificate[],
): X509Certificate[] {
  const chain = [...stored]
  for (;;) {
    const last = chain.at(-1)
    const issuer = others.find(
      (other) =>
        last?.checkIssued(other) &&
        !chain.some(({ fingerprint256 }) => fingerprint256 === other.fingerprint256),
    )
    if (!issuer) return chain
    chain.push(issuer)
  }
}

async function openStore(
  bytes: Buffer,
  password: string,
  keyPassword: string,
  problem: Problem,
): Promise<StoreEntries> {
  try {
    return await readStoreEntries(bytes, password, keyPassword)
  } catch {
    throw problem('cannot be opened; check its password, and check that it is a JKS or PKCS12 store')
  }
}
