import type { StoreEntries } from './store-entries.ts'

/** First bytes of a JKS store. Anything else is read as PKCS12. */
const jksMagic = 0xfeedfeed

/** Returns whether a store is a JKS store. */
export const isJks = (bytes: Buffer): boolean => bytes.length >= 4 && bytes.readUInt32BE(0) === jksMagic

/**
 * Returns the entries of a JKS or PKCS12 store. The format is detected from the content: a `.jks` file may be either,
 * as with Java. Throws if a password is wrong or the bytes are in neither format.
 */
export async function readStoreEntries(
  bytes: Buffer,
  password: string,
  keyPassword: string,
): Promise<StoreEntries> {
  // Loaded on first use: development clusters use PEM only.
  if (!isJks(bytes)) {
    const { readPkcs12 } = await import('./pkcs12.ts')
    return readPkcs12(bytes, password)
  }
  // A bundle of a CommonJS package has only a default export.
  const { toPem } = (await import('jks-js')).default
  return toPem(bytes, password, keyPassword)
}
