import { X509Certificate } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { conflict, invalidInput, notFound } from '@svc/domain/failure'
import { createAuthority, dayMs, hostsOf, newKeyPair, readAuthority, trustStoreFile } from './authority.ts'
import { writeBadSet } from './bad-set.ts'
import { type Authority, issueCertificate, type Validity } from './issue.ts'
import { readRevocations, revocationFile, writeRevocations } from './revocations.ts'
import {
  type StoreType,
  storeExtensions,
  storeFile,
  writeKeyStores,
  writeTrustStores,
} from './store-files.ts'

/** A folder with an authority and the stores that it issued. `password` is that of the key stores. */
export interface PkiFolder {
  readonly folder: string
  readonly password: string
  /** Epoch milliseconds. */
  readonly now: number
}

/** Creates the authority of a folder with its trust stores and an empty revocation list; returns the files. */
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
  const validity = { notBefore: pki.now - dayMs, notAfter: pki.now + content.days * dayMs }
  return await writeIssued(pki, name, content.hosts, content.types, validity)
}

/** Reissues the named certificates, or all in the folder, with new keys; returns the files. */
export async function rotateStores(pki: PkiFolder, names: readonly string[]): Promise<string[]> {
  const validity = { notBefore: pki.now - dayMs, notAfter: pki.now + 365 * dayMs }
  return await reissue(pki, names.length > 0 ? names : issuedNames(pki.folder), validity)
}

/** Replaces a certificate with an expired one; returns the files. */
export async function expireStores(pki: PkiFolder, name: string): Promise<string[]> {
  return await reissue(pki, [name], { notBefore: pki.now - 30 * dayMs, notAfter: pki.now - dayMs })
}

/** Revokes a certificate; returns the file of the revocation list. */
export async function revokeCertificate(pki: PkiFolder, name: string): Promise<string> {
  const authority = authorityOf(pki)
  const { serialNumber: serial } = certificateOf(pki.folder, name)
  const known = readRevocations(pki.folder).filter((entry) => entry.serial !== serial)
  await writeRevocations(pki, authority, [...known, { serial, at: pki.now }])
  return revocationFile(pki.folder)
}

/** Creates invalid certificates of the authority of a folder, in its subfolder `bad`; returns the files. */
export async function issueBadSet(pki: PkiFolder, hosts: readonly string[]): Promise<string[]> {
  const { password, now } = pki
  const authority = authorityOf(pki)
  return await writeBadSet({ folder: badSetFolder(pki.folder), authority, hosts, password, now })
}

/** The subfolder with the invalid certificates of a folder. */
export function badSetFolder(folder: string): string {
  return path.join(folder, 'bad')
}

async function reissue(pki: PkiFolder, names: readonly string[], validity: Validity): Promise<string[]> {
  const files: string[] = []
  for (const name of names) {
    const hosts = hostsOf(certificateOf(pki.folder, name))
    const types = (Object.keys(storeExtensions) as StoreType[]).filter((type) =>
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

/** The names of the key stores in a folder; each exists at least as PEM. */
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
    throw notFound(
      `There is no certificate [${name}] in [${folder}]; expected one of [${issuedNames(folder).join('], [')}]`,
    )
  }
}

function authorityOf(pki: PkiFolder): Authority {
  const authority = readAuthority(pki)
  if (!authority)
    throw conflict(`There is no certificate authority in [${pki.folder}]. Create one with ./svc pki init.`)
  return authority
}

function checkName(name: string): void {
  if (!/^[\w][\w.-]{0,63}$/.test(name) || name === 'authority')
    throw invalidInput(
      `Invalid certificate name [${name}]: expected up to 64 letters, digits, [.], [-], and [_], but not [authority]`,
    )
}
