/** Fast derivation of keys from passwords, for the library that reads and writes PKCS12 stores. */
export { deriveKeysNatively } from './derive-keys-natively.ts'
