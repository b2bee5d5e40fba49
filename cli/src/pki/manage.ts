import { X509Certificate } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { conflict, invalidInput, notFound } from '@svc/domain/failure'
import { createAuthority, DAY_MS, hostsOf, newKeyPair, readAuthority, trustStoreFile } from './authority.ts'
import { writeBadSet } from './bad-set.ts'
import { type Authority, issueCertificate, type Validity } from './issue.ts'
import { readRevocations, revocationFile, writeRevocations } from './revocations.ts'
import { type StoreType, storeEndings, storeFile, writeKeyStores, writeTrustStores } from './store-files.ts'

/** A folder with an authority and the stores that it issued; `password` opens its key stores. */
export interface PkiFolder {
  readonly folder: string
  readonly password: string
  /** Epoch milliseconds. */
  readonly now: number
}

/** Makes the authority of a folder with its trust stores and an empty list of revoked certificates; returns the files. */
export async function initAuthority(pki: PkiFolder): Promise<string[]> {
  const authority = readAuthority(pki) ?? (await createAuthority(pki))
  await writeRevocations(pki, authority, readRevocations(pki.folder))
  const trust = { authority: authority.certificatePem }
  return [
    trustStoreFile(pki.folder),
    ...writeTrustStores(pki.folder, 'authority', trust, pki.password, pki.now),
    revocationFile(pki.folder),
  ]
}

/** Issues a certificate with a new key and writes its stores; returns the files. */
export async function issueStores(
  pki: PkiFolder,
  name: string,
  content: { readonly hosts: readonly string[]; readonly types: readonly StoreType[]; readonly days: number },
): Promise<string[]> {
  checkName(name)
  const validity = { notBefore: pki.now - DAY_MS, notAfter: pki.now + content.days * DAY_MS }
  return await writeIssued(pki, name, content.hosts, content.types, validity)
}

/** Issues the certificates of these names, or of all in the folder, anew with new keys; returns the files. */
export async function rotateStores(pki: PkiFolder, names: readonly string[]): Promise<string[]> {
  const validity = { notBefore: pki.now - DAY_MS, notAfter: pki.now + 365 * DAY_MS }
  return await reissue(pki, names.length > 0 ? names : issuedNames(pki.folder), validity)
}

/** Replaces the certificate of a name by one that has run out; returns the files. */
export async function expireStores(pki: PkiFolder, name: string): Promise<string[]> {
  return await reissue(pki, [name], { notBefore: pki.now - 30 * DAY_MS, notAfter: pki.now - DAY_MS })
}

/** Puts the certificate of a name on the list of revoked ones; returns the file of the list. */
export async function revokeCertificate(pki: PkiFolder, name: string): Promise<string> {
  const authority = authorityOf(pki)
  const { serialNumber: serial } = certificateOf(pki.folder, name)
  const known = readRevocations(pki.folder).filter((entry) => entry.serial !== serial)
  await writeRevocations(pki, authority, [...known, { serial, at: pki.now }])
  return revocationFile(pki.folder)
}

/** Makes the bad certificates of the authority of a folder, in a folder `bad` below it; returns the files. */
export async function issueBadSet(pki: PkiFolder, hosts: readonly string[]): Promise<string[]> {
  const { password, now } = pki
  const authority = authorityOf(pki)
  return await writeBadSet({ folder: badSetFolder(pki.folder), authority, hosts, password, now })
}

/** Where the bad certificates of a folder are. */
export function badSetFolder(folder: string): string {
  return path.join(folder, 'bad')
}

async function reissue(pki: PkiFolder, names: readonly string[], validity: Validity): Promise<string[]> {
  const files: string[] = []
  for (const name of names) {
    const hosts = hostsOf(certificateOf(pki.folder, name))
    const types = (Object.keys(storeEndings) as StoreType[]).filter((type) =>
      existsSync(storeFile(pki.folder, name, type)),
    )
    files.push(...(await writeIssued(pki, name, hosts, types, validity)))
  }
  return files
}

async function writeIssued(
  pki: PkiFolder,
  name: string,
  hosts: readonly string[],
  types: readonly StoreType[],
  validity: Validity,
): Promise<string[]> {
  const authority = authorityOf(pki)
  const { publicKey, privateKey } = await newKeyPair()
  const certificate = issueCertificate(authority, { publicKey, name, hosts, ...validity })
  const stored = { name, key: privateKey, chain: [certificate, authority.certificatePem] }
  return writeKeyStores(pki.folder, stored, types, pki.password, pki.now)
}

/** The names that a folder has a key store of. PEM is always among its formats. */
function issuedNames(folder: string): string[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith('.pem') && !/^authority\.|\.crl\.pem$/.test(file))
    .map((file) => file.slice(0, -'.pem'.length))
    .sort()
}

function certificateOf(folder: string, name: string): X509Certificate {
  checkName(name)
  try {
    const pem = readFileSync(storeFile(folder, name, 'pem'), 'latin1')
    return new X509Certificate(pem.slice(pem.indexOf('-----BEGIN CERTIFICATE-----')))
  } catch {
    throw notFound(`There is no certificate of [${name}] in [${folder}]; there are [${issuedNames(folder)}]`)
  }
}

function authorityOf(pki: PkiFolder): Authority {
  const authority = readAuthority(pki)
  if (!authority)
    throw conflict(`There is no authority in [${pki.folder}] that could sign: make one with ./svc pki init`)
  return authority
}

function checkName(name: string): void {
  if (!/^[\w][\w.-]{0,63}$/.test(name) || name === 'authority')
    throw invalidInput(
      `The name [${name}] is not allowed: letters, digits, [.], [-] and [_], at most 64, and not [authority]`,
    )
}
