import { createPrivateKey, generateKeyPair, type KeyObject, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { writeWhole } from '../home/index.ts'
import type { Authority } from './issue.ts'

const DAY_MS = 24 * 60 * 60 * 1000
const AUTHORITY_LIFE_MS = 3650 * DAY_MS
const CERTIFICATE_LIFE_MS = 365 * DAY_MS

/** What has less than this left is issued again, so that nothing expires while a cluster runs for some days. */
const LEAST_LEFT_MS = 7 * DAY_MS

/** What certificates are wanted. */
export interface CertificateRequest {
  /** The folder that keeps the authority's certificate and the key stores. */
  readonly folder: string
  /** The folder that keeps the authority's private key; `folder` when left out. */
  readonly authorityFolder?: string
  readonly instances: readonly string[]
  /** Host names and addresses that the certificate of an instance is good for. */
  readonly hosts: (instance: string) => readonly string[]
  /** Encrypts the private keys of the key stores. */
  readonly keyStorePassword: string
  /** Epoch milliseconds. */
  readonly now: number
}

/** The trust store of a folder: the authority's certificate, PEM. */
export function trustStoreFile(folder: string): string {
  return path.join(folder, 'authority.pem')
}

/** The key store of one instance: its encrypted private key and its certificate with the authority's, PEM. */
export function keyStoreFile(folder: string, instance: string): string {
  return path.join(folder, `${instance}.pem`)
}

/**
 * Makes the authority and the key stores that are missing, damaged, near their end or for other hosts; the rest stays
 * as it is. Returns the instances that got a new key store.
 */
export async function ensureCertificates(request: CertificateRequest): Promise<string[]> {
  const kept = readAuthority(request)
  const outdated = kept
    ? request.instances.filter((instance) => !isKeyStoreGood(request, instance, kept.certificate))
    : request.instances
  if (kept && outdated.length === 0) return []

  // The library is loaded only now: most starts issue nothing.
  const { issueAuthority, issueCertificate } = await import('./issue.ts')
  // All keys at once: they are made on other threads.
  const keys = outdated.map(() => newKeyPair())
  const authority = kept
    ? { certificatePem: kept.certificate.toString(), key: kept.key }
    : await newAuthority()
  await Promise.all(
    outdated.map(async (instance, index) => {
      const pair = await keys[index]!
      const certificate = issueCertificate(authority, {
        publicKey: pair.publicKey,
        name: instance,
        hosts: request.hosts(instance),
        notBefore: request.now - DAY_MS,
        notAfter: request.now + CERTIFICATE_LIFE_MS,
      })
      const passphrase = request.keyStorePassword
      const key = pair.privateKey.export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase })
      writeWhole(
        keyStoreFile(request.folder, instance),
        `${key}${certificate}${authority.certificatePem}`,
        0o600,
      )
    }),
  )
  return [...outdated]

  async function newAuthority(): Promise<Authority> {
    const pair = await newKeyPair()
    const certificatePem = issueAuthority({
      ...pair,
      notBefore: request.now - DAY_MS,
      notAfter: request.now + AUTHORITY_LIFE_MS,
    })
    writeWhole(
      authorityKeyFile(request),
      pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
      0o600,
    )
    writeWhole(trustStoreFile(request.folder), certificatePem, 0o644)
    return { certificatePem, key: pair.privateKey }
  }
}

function newKeyPair(): Promise<{ publicKey: KeyObject; privateKey: KeyObject }> {
  return promisify(generateKeyPair)('rsa', { modulusLength: 2048 })
}

function authorityKeyFile({ folder, authorityFolder = folder }: CertificateRequest): string {
  return path.join(authorityFolder, 'authority.key.pem')
}

/** The kept authority; undefined when it must be made anew. */
function readAuthority(
  request: CertificateRequest,
): { certificate: X509Certificate; key: KeyObject } | undefined {
  try {
    const certificate = new X509Certificate(readFileSync(trustStoreFile(request.folder)))
    const key = createPrivateKey(readFileSync(authorityKeyFile(request)))
    const isGood = certificate.ca && certificate.checkPrivateKey(key) && isLongLived(certificate, request.now)
    return isGood ? { certificate, key } : undefined
  } catch {
    // Missing or damaged: both are mended by making it anew.
    return undefined
  }
}

function isKeyStoreGood(request: CertificateRequest, instance: string, authority: X509Certificate): boolean {
  try {
    const pem = readFileSync(keyStoreFile(request.folder, instance), 'utf8')
    const certificate = new X509Certificate(pem.slice(pem.indexOf('-----BEGIN CERTIFICATE-----')))
    const key = createPrivateKey({ key: pem, passphrase: request.keyStorePassword })
    return (
      certificate.verify(authority.publicKey) &&
      certificate.checkPrivateKey(key) &&
      isLongLived(certificate, request.now) &&
      hostsOf(certificate) === [...request.hosts(instance)].map(normalized).sort().join()
    )
  } catch {
    return false
  }
}

function isLongLived(certificate: X509Certificate, now: number): boolean {
  return (
    certificate.validToDate.getTime() - now >= LEAST_LEFT_MS && certificate.validFromDate.getTime() <= now
  )
}

function hostsOf(certificate: X509Certificate): string {
  const names = certificate.subjectAltName?.split(', ') ?? []
  return names
    .map((name) => normalized(name.slice(name.indexOf(':') + 1)))
    .sort()
    .join()
}

/** One spelling of a host: certificates show IPv6 addresses written out, `0:0:0:0:0:0:0:1`. */
function normalized(host: string): string {
  return host.includes(':') ? new URL(`http://[${host}]`).hostname.slice(1, -1) : host.toLowerCase()
}
