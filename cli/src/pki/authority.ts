import { createPrivateKey, generateKeyPair, type KeyObject, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { writeWhole } from '../home/index.ts'
import type { Authority } from './issue.ts'

export const DAY_MS = 24 * 60 * 60 * 1000
const AUTHORITY_LIFE_MS = 3650 * DAY_MS

/** What has less than this left is issued again, so that nothing expires while a cluster runs for some days. */
const LEAST_LEFT_MS = 7 * DAY_MS

/** The trust store of a folder: the authority's certificate, PEM. */
export function trustStoreFile(folder: string): string {
  return path.join(folder, 'authority.pem')
}

/** Where an authority is kept. */
export interface AuthorityPlace {
  /** The folder with its certificate. */
  readonly folder: string
  /** The folder with its private key; `folder` when left out. */
  readonly authorityFolder?: string
  /** Epoch milliseconds. */
  readonly now: number
}

function authorityKeyFile({ folder, authorityFolder = folder }: AuthorityPlace): string {
  return path.join(authorityFolder, 'authority.key.pem')
}

/** The authority that is kept in a place; undefined where none is there that is whole and lasts. */
export function readAuthority(place: AuthorityPlace): Authority | undefined {
  try {
    const certificate = new X509Certificate(readFileSync(trustStoreFile(place.folder)))
    const key = createPrivateKey(readFileSync(authorityKeyFile(place)))
    const isGood = certificate.ca && certificate.checkPrivateKey(key) && isLongLived(certificate, place.now)
    return isGood ? { certificatePem: certificate.toString(), key } : undefined
  } catch {
    // Missing or damaged: both are mended by making it anew.
    return undefined
  }
}

/** Makes an authority and keeps it, in place of any before. */
export async function createAuthority(place: AuthorityPlace): Promise<Authority> {
  const { issueAuthority } = await import('./issue.ts')
  const pair = await newKeyPair()
  const certificatePem = issueAuthority({
    ...pair,
    notBefore: place.now - DAY_MS,
    notAfter: place.now + AUTHORITY_LIFE_MS,
  })
  writeWhole(
    authorityKeyFile(place),
    pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    0o600,
  )
  writeWhole(trustStoreFile(place.folder), certificatePem, 0o644)
  return { certificatePem, key: pair.privateKey }
}

/** A new pair of RSA keys. */
export function newKeyPair(): Promise<{ publicKey: KeyObject; privateKey: KeyObject }> {
  return promisify(generateKeyPair)('rsa', { modulusLength: 2048 })
}

/** Whether a certificate holds at a time and for some days more. */
export function isLongLived(certificate: X509Certificate, now: number): boolean {
  return (
    certificate.validToDate.getTime() - now >= LEAST_LEFT_MS && certificate.validFromDate.getTime() <= now
  )
}

/** The host names and addresses that a certificate is for. */
export function hostsOf(certificate: X509Certificate): string[] {
  const names = certificate.subjectAltName?.split(', ') ?? []
  return names.map((name) => normalizedHost(name.slice(name.indexOf(':') + 1)))
}

/** One spelling of a host: certificates show IPv6 addresses written out, `0:0:0:0:0:0:0:1`. */
export function normalizedHost(host: string): string {
  return host.includes(':') ? new URL(`http://[${host}]`).hostname.slice(1, -1) : host.toLowerCase()
}
