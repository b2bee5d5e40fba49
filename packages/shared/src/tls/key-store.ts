import { createPrivateKey, createPublicKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Settings } from '../config/index.ts'

/** The private key and certificate chain that a server shows, as PEM. */
export interface ServerIdentity {
  readonly key: string
  readonly cert: string
}

interface StoreEntry {
  readonly cert?: string
  readonly key?: string
  readonly ca?: string
}

const certificatePattern = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

/** The key store of a server. Throws a plain error that names the file and the property that is wrong. */
export async function loadServerIdentity(settings: Settings): Promise<ServerIdentity> {
  const path = settings.get('svc.server.https.keyStorePath') as string
  const password = settings.get('svc.server.https.keyStorePassword') ?? ''
  const type = settings.get('svc.server.https.keyStoreType')
  const alias = settings.get('svc.server.https.certAlias')
  const problem = (text: string) =>
    new Error(`The key store [${path}] of [svc.server.https.keyStorePath] ${text}`)
  const bytes = readStore(path, problem)
  const identity =
    type === 'pem'
      ? readPemIdentity(bytes, password, problem)
      : await readJksIdentity(bytes, password, alias, problem)
  const [leaf] = identity.cert.match(certificatePattern) ?? []
  if (!leaf) throw problem('holds no certificate')
  const certificate = new X509Certificate(leaf)
  if (new Date(certificate.validTo).getTime() < Date.now())
    throw problem(`holds a certificate that expired on [${certificate.validTo}]`)
  if (!certificate.publicKey.equals(createPublicKey(createPrivateKey(identity.key))))
    throw problem('holds a private key that is not the one of its certificate')
  return identity
}

/** The certificates that a client trusts, as PEM; undefined where no trust store is configured. */
export async function loadTrustedCertificates(settings: Settings): Promise<readonly string[] | undefined> {
  const path = settings.get('svc.client.https.trustStorePath')
  if (path === undefined) return undefined
  const password = settings.get('svc.client.https.trustStorePassword') ?? ''
  const problem = (text: string) =>
    new Error(`The trust store [${path}] of [svc.client.https.trustStorePath] ${text}`)
  const bytes = readStore(path, problem)
  const certificates =
    settings.get('svc.client.https.trustStoreType') === 'pem'
      ? (bytes.toString('latin1').match(certificatePattern) ?? [])
      : Object.values(await readEntries(bytes, password, problem)).flatMap(
          ({ ca, cert }) => (ca ?? cert ?? '').match(certificatePattern) ?? [],
        )
  if (certificates.length === 0) throw problem('holds no certificate')
  return certificates
}

type Problem = (text: string) => Error

function readStore(path: string, problem: Problem): Buffer {
  try {
    return readFileSync(path)
  } catch (error) {
    throw problem(`cannot be read (${(error as NodeJS.ErrnoException).code})`)
  }
}

function readPemIdentity(bytes: Buffer, password: string, problem: Problem): ServerIdentity {
  const text = bytes.toString('latin1')
  const encrypted = /-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]+-----END [A-Z ]*PRIVATE KEY-----/.exec(text)
  if (!encrypted) throw problem('holds no private key')
  try {
    const key = createPrivateKey({ key: encrypted[0], passphrase: password })
    return {
      key: key.export({ type: 'pkcs8', format: 'pem' }) as string,
      cert: (text.match(certificatePattern) ?? []).join('\n'),
    }
  } catch {
    throw problem('holds a private key that cannot be opened; is [svc.server.https.keyStorePassword] right?')
  }
}

async function readJksIdentity(
  bytes: Buffer,
  password: string,
  alias: string | undefined,
  problem: Problem,
): Promise<ServerIdentity> {
  const entries = await readEntries(bytes, password, problem)
  const names = Object.keys(entries).filter((name) => entries[name]?.key !== undefined)
  const name =
    alias === undefined
      ? names[0]
      : names.find((candidate) => candidate.toLowerCase() === alias.toLowerCase())
  const entry = name === undefined ? undefined : entries[name]
  if (!entry?.key || !entry.cert) {
    throw problem(
      alias === undefined
        ? 'holds no private key'
        : `has no key under [${alias}] of [svc.server.https.certAlias]; it has [${names.join(', ')}]`,
    )
  }
  return { key: entry.key, cert: withIssuers(entry.cert, Object.values(entries)) }
}

/** The whole chain of a certificate: a PKCS12 store keeps those of its issuers as entries of their own. */
function withIssuers(cert: string, entries: readonly StoreEntry[]): string {
  const read = (text: string) =>
    (text.match(certificatePattern) ?? []).map((certificate) => new X509Certificate(certificate))
  const chain = read(cert)
  const others = entries.flatMap(({ ca }) => read(ca ?? ''))
  for (;;) {
    const last = chain.at(-1)
    const issuer = others.find(
      (other) =>
        last?.checkIssued(other) &&
        !chain.some(({ fingerprint256 }) => fingerprint256 === other.fingerprint256),
    )
    if (!issuer) return chain.map(String).join('')
    chain.push(issuer)
  }
}

/** JKS and PKCS12 are told apart by their content: a `.jks` file may hold either, as with Java. */
async function readEntries(
  bytes: Buffer,
  password: string,
  problem: Problem,
): Promise<Record<string, StoreEntry>> {
  try {
    // Loaded when first needed: the stores of a development cluster are PEM.
    const { toPem } = await import('jks-js')
    return toPem(bytes, password)
  } catch {
    throw problem('cannot be opened; is its password right, and is it a JKS or PKCS12 store?')
  }
}
