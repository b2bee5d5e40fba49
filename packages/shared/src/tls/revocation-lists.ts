import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'

const listPattern = /-----BEGIN X509 CRL-----[^-]+-----END X509 CRL-----/g

/**
 * Returns the certificate revocation lists in a file, as PEM. The file is PEM with one list per authority, or DER with
 * one list. Throws a plain error that names the file and the property.
 */
export function readRevocationLists(path: string, property: string): readonly string[] {
  const problem = (text: string) =>
    new Error(`The certificate revocation list [${path}] from [${property}] ${text}`)
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
    throw problem('is not a certificate revocation list in PEM or DER format')
  }
  return lists
}

const pemOf = (bytes: Buffer): string =>
  `-----BEGIN X509 CRL-----\n${(bytes.toString('base64').match(/.{1,64}/g) ?? []).join('\n')}\n-----END X509 CRL-----\n`
