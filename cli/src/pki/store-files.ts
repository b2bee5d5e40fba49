import path from 'node:path'
import { writeAtomically } from '../home/index.ts'
import { jksKeyStore, jksTrustStore } from './jks.ts'
import { pkcs12KeyStore, pkcs12TrustStore } from './pkcs12.ts'
import type { StoredKey } from './stored-key.ts'

/** The store formats with their file extensions. */
export const storeExtensions = { pem: 'pem', jks: 'jks', pkcs12: 'p12' } as const

/** A store format. */
export type StoreType = keyof typeof storeExtensions

/** The file of a store. */
export function storeFile(folder: string, name: string, type: StoreType): string {
  return path.join(folder, `${name}.${storeExtensions[type]}`)
}

/** Writes a key store of each type, readable only by its owner; returns the files. */
export function writeKeyStores(
  folder: string,
  entry: StoredKey,
  types: readonly StoreType[],
  password: string,
  now: number,
): string[] {
  return types.map((type) => {
    const file = storeFile(folder, entry.name, type)
    writeAtomically(file, keyStoreBytes(entry, type, password, now), 0o600)
    return file
  })
}

function keyStoreBytes(
  entry: StoredKey,
  type: StoreType,
  password: string,
  now: number,
): string | Uint8Array {
  switch (type) {
    case 'pem': {
      const encryption = { cipher: 'aes-256-cbc', passphrase: password } as const
      return `${entry.key.export({ type: 'pkcs8', format: 'pem', ...encryption })}${entry.chain.join('')}`
    }
    case 'jks':
      return jksKeyStore(entry, password, now)
    case 'pkcs12':
      return pkcs12KeyStore(entry, password)
  }
}

/** Writes a trust store with these certificates as JKS and PKCS12; returns the files. */
export function writeTrustStores(
  folder: string,
  name: string,
  certificates: Readonly<Record<string, string>>,
  password: string,
  now: number,
): string[] {
  const jks = storeFile(folder, name, 'jks')
  const pkcs12 = storeFile(folder, name, 'pkcs12')
  writeAtomically(jks, jksTrustStore(certificates, password, now), 0o644)
  writeAtomically(pkcs12, pkcs12TrustStore(certificates, password), 0o644)
  return [jks, pkcs12]
}
