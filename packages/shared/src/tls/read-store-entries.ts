import type { StoreEntries } from './store-entries.ts'

/** Anything that does not begin like a JKS store is read as PKCS12. */
const jksMagic = 0xfeedfeed

/**
 * The entries of a JKS or PKCS12 store, told apart by content: a `.jks` file may hold either, as with Java. Throws
 * where a password is wrong or the bytes are none of both.
 */
export async function readStoreEntries(
  bytes: Buffer,
  password: string,
  keyPassword: string,
): Promise<StoreEntries> {
  // Loaded when first needed: the stores of a development cluster are PEM.
  if (bytes.length < 4 || bytes.readUInt32BE(0) !== jksMagic) {
    const { readPkcs12 } = await import('./pkcs12.ts')
    return readPkcs12(bytes, password)
  }
  const { toPem } = await import('jks-js')
  return toPem(bytes, password, keyPassword)
}
