import { hash } from 'node:crypto'
import type Forge from 'node-forge'
import { pkcs12Key } from './pkcs12-key.ts'

const nativeAlgorithms: readonly unknown[] = ['sha1', 'sha256', 'sha384', 'sha512']

/**
 * Makes the library derive keys from passwords with the system's cryptography. A store of Java's keytool needs 30,000
 * iterations, and the library's own code would block a server for a second at the start and after each change of a store.
 */
export function deriveKeysNatively(forge: typeof Forge): void {
  const { pkcs5, pkcs12, util } = forge
  const generateKey: typeof pkcs12.generateKey = (
    password,
    salt,
    purpose,
    iterations,
    lengthBytes,
    digest,
  ) => {
    const { algorithm, blockLength } = digest ?? { algorithm: 'sha1', blockLength: 64 }
    const key = pkcs12Key({
      password: password ?? undefined,
      salt: Buffer.from(salt.bytes(), 'latin1'),
      purpose,
      iterations,
      lengthBytes,
      hash: (bytes) => hash(algorithm, bytes, 'buffer'),
      blockBytes: blockLength,
    })
    return util.createBuffer(key.toString('latin1'))
  }
  Object.assign(pkcs12, { generateKey })
  // Not among the library's types. It uses this one to decrypt.
  Object.assign((forge as unknown as { pbe: object }).pbe, { generatePkcs12Key: generateKey })

  const { pbkdf2 } = pkcs5
  type Parameters = [
    password: string,
    salt: string,
    iterations: number,
    keySize: number,
    digest: Forge.md.MessageDigest,
  ]
  const nativePbkdf2 = (...[password, salt, iterations, keySize, digest]: Parameters): string => {
    // If it gets the name of an algorithm, the library uses the system's cryptography, with one byte for each character.
    const isNative = nativeAlgorithms.includes(digest.algorithm) && consistsOfBytes(password)
    return pbkdf2(password, salt, iterations, keySize, isNative ? digest.algorithm : digest)
  }
  Object.assign(pkcs5, { pbkdf2: nativePbkdf2 })
}

const consistsOfBytes = (text: string): boolean => Buffer.from(text, 'latin1').toString('latin1') === text
