import { X509Certificate } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { writeAtomically } from '../home/index.ts'
import { dayMs, newKeyPair } from './authority.ts'
import {
  type Authority,
  issueAuthority,
  issueCertificate,
  issueIntermediate,
  issueRevocationList,
} from './issue.ts'
import { type StoreType, writeKeyStores, writeTrustStores } from './store-files.ts'

/** The invalid certificates that have a store. (The eighth case is a missing certificate.) */
export const badCertificates = [
  'wrong-host',
  'other-ca',
  'expired',
  'not-yet-valid',
  'revoked',
  'not-ca-signed',
  'intermediate-missing',
] as const

/** The valid certificates of the set, for comparison. */
export const goodCertificates = ['good', 'good-intermediate'] as const

/** A request to create a set of invalid certificates. */
export interface BadSetRequest {
  /** The folder for the stores. */
  readonly folder: string
  readonly authority: Authority
  /** Host names and addresses of all certificates except `wrong-host`. */
  readonly hosts: readonly string[]
  readonly password: string
  /** Epoch milliseconds. */
  readonly now: number
}

/** The revocation lists of the set, PEM. */
export function badSetRevocationFile(folder: string): string {
  return path.join(folder, 'revoked.crl.pem')
}

/**
 * Creates certificates that must be rejected, each with exactly the one defect that its name says, in every store format,
 * together with trust stores and revocation lists. Returns the files.
 */
export async function writeBadSet(request: BadSetRequest): Promise<string[]> {
  const { folder, authority, hosts, password, now } = request
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const valid = { notBefore: now - dayMs, notAfter: now + 365 * dayMs }
  const other = await newAuthority((pair) => issueAuthority({ ...pair, ...valid, name: 'another authority' }))
  const intermediate = await newAuthority(({ publicKey }) =>
    issueIntermediate(authority, { ...valid, publicKey, name: 'svc development intermediate' }),
  )
  const server = await newAuthority(({ publicKey }) =>
    issueCertificate(authority, { ...valid, publicKey, name: 'a server, not an authority', hosts }),
  )
  const root = authority.certificatePem
  const entries: Record<Entry, EntryContent> = {
    good: { issuer: authority, chain: [root] },
    'good-intermediate': { issuer: intermediate, chain: [intermediate.certificatePem, root] },
    'wrong-host': { issuer: authority, chain: [root], hosts: ['wrong.host.invalid', '192.0.2.1'] },
    'other-ca': { issuer: other, chain: [other.certificatePem] },
    expired: {
      issuer: authority,
      chain: [root],
      validity: { notBefore: now - 30 * dayMs, notAfter: now - dayMs },
    },
    'not-yet-valid': {
      issuer: authority,
      chain: [root],
      validity: { notBefore: now + dayMs, notAfter: now + 365 * dayMs },
    },
    revoked: { issuer: authority, chain: [root] },
    'not-ca-signed': { issuer: server, chain: [server.certificatePem, root] },
    'intermediate-missing': { issuer: intermediate, chain: [] },
  }
  const types: readonly StoreType[] = ['pem', 'jks', 'pkcs12']
  const files: string[] = []
  const serials: Partial<Record<Entry, string>> = {}
  for (const [name, entry] of Object.entries(entries) as [Entry, EntryContent][]) {
    const { publicKey, privateKey } = await newKeyPair()
    const certificate = issueCertificate(entry.issuer, {
      publicKey,
      name,
      hosts: entry.hosts ?? hosts,
      ...(entry.validity ?? valid),
    })
    serials[name] = new X509Certificate(certificate).serialNumber
    const stored = { name, key: privateKey, chain: [certificate, ...entry.chain] }
    files.push(...writeKeyStores(folder, stored, types, password, now))
  }
  const list = { from: now - dayMs, until: now + 365 * dayMs }
  const revoked = [{ serial: serials.revoked!, at: now - dayMs }]
  // A revocation check needs the list of each authority in a chain.
  writeAtomically(
    badSetRevocationFile(folder),
    issueRevocationList(authority, { ...list, revoked }) +
      issueRevocationList(intermediate, { ...list, revoked: [] }),
    0o644,
  )
  writeAtomically(path.join(folder, 'trust.pem'), root, 0o644)
  const trust = writeTrustStores(folder, 'trust', { authority: root }, password, now)
  return [...files, ...trust, path.join(folder, 'trust.pem'), badSetRevocationFile(folder)]
}

type Entry = (typeof badCertificates)[number] | (typeof goodCertificates)[number]

interface EntryContent {
  readonly issuer: Authority
  readonly chain: readonly string[]
  readonly hosts?: readonly string[]
  readonly validity?: { readonly notBefore: number; readonly notAfter: number }
}

async function newAuthority(
  issue: (pair: Awaited<ReturnType<typeof newKeyPair>>) => string,
): Promise<Authority> {
  const pair = await newKeyPair()
  return { certificatePem: issue(pair), key: pair.privateKey }
}
