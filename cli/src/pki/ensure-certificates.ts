import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { writeAtomically } from '../home/index.ts'
import {
  createAuthority,
  dayMs,
  hostsOf,
  isLongLived,
  newKeyPair,
  normalizedHost,
  readAuthority,
} from './authority.ts'

const certificateLifeMs = 365 * dayMs

/** The required certificates. */
export interface CertificateRequest {
  /** The folder for the authority's certificate and the key stores. */
  readonly folder: string
  /** The folder for the authority's private key. Default: `folder`. */
  readonly authorityFolder?: string
  readonly instances: readonly string[]
  /** Host names and addresses of an instance's certificate. */
  readonly hosts: (instance: string) => readonly string[]
  /** Encrypts the private keys of the key stores. */
  readonly keyStorePassword: string
  /** Epoch milliseconds. */
  readonly now: number
}

/** The key store of one instance: its encrypted private key and its certificate with the authority's, PEM. */
export function keyStoreFile(folder: string, instance: string): string {
  return path.join(folder, `${instance}.pem`)
}

/**
 * Creates the authority and the key stores that are missing, damaged, about to expire, or issued for other hosts; keeps
 * the others. Returns the instances with a new key store.
 */
export async function ensureCertificates(request: CertificateRequest): Promise<string[]> {
  const kept = readAuthority(request)
  const keptCertificate = kept && new X509Certificate(kept.certificatePem)
  const outdated = keptCertificate
    ? request.instances.filter((instance) => !isKeyStoreGood(request, instance, keptCertificate))
    : request.instances
  if (kept && outdated.length === 0) return []

  // Loaded here, because most starts do not issue anything.
  const { issueCertificate } = await import('./issue.ts')
  // All keys are generated at the same time, on other threads.
  const keys = outdated.map(() => newKeyPair())
  const authority = kept ?? (await createAuthority(request))
  await Promise.all(
    outdated.map(async (instance, index) => {
      const pair = await keys[index]!
      const certificate = issueCertificate(authority, {
        publicKey: pair.publicKey,
        name: instance,
        hosts: request.hosts(instance),
        notBefore: request.now - dayMs,
        notAfter: request.now + certificateLifeMs,
      })
      const passphrase = request.keyStorePassword
      const key = pair.privateKey.export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase })
      writeAtomically(
        keyStoreFile(request.folder, instance),
        `${key}${certificate}${authority.certificatePem}`,
        0o600,
      )
    }),
  )
  return [...outdated]
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
      hostsOf(certificate).sort().join() === request.hosts(instance).map(normalizedHost).sort().join()
    )
  } catch {
    return false
  }
}
