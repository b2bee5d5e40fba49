import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'

const listPattern = /-----BEGIN X509 CRL-----[^-]+-----END X509 CRL-----/g

/**
 * The lists of revoked certificates in a file, as PEM: a PEM file with one list for each authority, or one list as DER.
 * Throws a plain error that names the file and the property.
 */
export function readRevocationLists(path: string, property: string): readonly string[] {
  const problem = (text: string) =>
    new Error(`The list of revoked certificates [${path}] of [${property}] ${text}`)
  let bytes: Buffer
  try {
    bytes = readFileSync(path)
  } catch (error) {
    throw problem(`cannot be read (${(error as NodeJS.ErrnoException).code})`)
  }
  const text = bytes.toString('latin1')
  const lists: readonly string[] = text.match(listPattern) ?? [pemOf(bytes)]
  try {
    createSecureContext({ crl: [...lists] })
  } catch {
    throw problem('is no list of revoked certificates in PEM or DER')
  }
  return lists
}

const pemOf = (bytes: Buffer): string =>
  `-----BEGIN X509 CRL-----\n${(bytes.toString('base64').match(/.{1,64}/g) ?? []).join('\n')}\n-----END X509 CRL-----\n`
