import { createPrivateKey, generateKeyPair, type KeyObject, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { writeAtomically } from '../home/index.ts'
import type { Authority } from './issue.ts'

export const dayMs = 24 * 60 * 60 * 1000
const authorityLifeMs = 3650 * dayMs

/** Certificates that expire sooner are reissued, so that none expires while a cluster runs for some days. */
const minLeftMs = 7 * dayMs

/** The trust store of a folder: the authority's certificate, PEM. */
export function trustStoreFile(folder: string): string {
  return path.join(folder, 'authority.pem')
}

/** Where an authority is stored. */
export interface AuthorityPlace {
  /** The folder with its certificate. */
  readonly folder: string
  /** The folder with its private key. Default: `folder`. */
  readonly authorityFolder?: string
  /** Epoch milliseconds. */
  readonly now: number
}

function authorityKeyFile({ folder, authorityFolder = folder }: AuthorityPlace): string {
  return path.join(authorityFolder, 'authority.key.pem')
}

/** The stored authority; undefined if it is missing, damaged, or about to expire. */
export function readAuthority(place: AuthorityPlace): Authority | undefined {
  try {
    const certificate = new X509Certificate(readFileSync(trustStoreFile(place.folder)))
    const key = createPrivateKey(readFileSync(authorityKeyFile(place)))
    const isGood = certificate.ca && certificate.checkPrivateKey(key) && isLongLived(certificate, place.now)
    return isGood ? { certificatePem: certificate.toString(), key } : undefined
  } catch {
    // Missing or damaged: either way, a new one is created.
    return undefined
  }
}

/** Creates and stores an authority, replacing any previous one. */
export async function createAuthority(place: AuthorityPlace): Promise<Authority> {
  const { issueAuthority } = await import('./issue.ts')
  const pair = await newKeyPair()
  const certificatePem = issueAuthority({
    ...pair,
    notBefore: place.now - dayMs,
    notAfter: place.now + authorityLifeMs,
  })
  writeAtomically(
    authorityKeyFile(place),
    pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    0o600,
  )
  writeAtomically(trustStoreFile(place.folder), certificatePem, 0o644)
  return { certificatePem, key: pair.privateKey }
}

/** A new RSA key pair. */
export function newKeyPair(): Promise<{ publicKey: KeyObject; privateKey: KeyObject }> {
  return promisify(generateKeyPair)('rsa', { modulusLength: 2048 })
}

/** Whether a certificate is valid now and for some more days. */
export function isLongLived(certificate: X509Certificate, now: number): boolean {
  return certificate.validToDate.getTime() - now >= minLeftMs && certificate.validFromDate.getTime() <= now
}

/** The host names and addresses of a certificate. */
export function hostsOf(certificate: X509Certificate): string[] {
  const names = certificate.subjectAltName?.split(', ') ?? []
  return names.map((name) => normalizedHost(name.slice(name.indexOf(':') + 1)))
}

/** The canonical form of a host: certificates show IPv6 addresses in full, `0:0:0:0:0:0:0:1`. */
export function normalizedHost(host: string): string {
  return host.includes(':') ? new URL(`http://[${host}]`).hostname.slice(1, -1) : host.toLowerCase()
}
