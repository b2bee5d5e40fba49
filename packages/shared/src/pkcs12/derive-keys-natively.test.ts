import assert from 'node:assert/strict'
import { it } from 'node:test'
import forge from 'node-forge'
import { fc } from '../testing/index.ts'
import { deriveKeysNatively } from './index.ts'

const { generateKey } = forge.pkcs12
const { pbkdf2 } = forge.pkcs5
deriveKeysNatively(forge)

const anyDigest = fc.constantFrom(
  () => forge.md.sha1.create(),
  () => forge.md.sha256.create(),
  () => forge.md.sha384.create(),
  () => forge.md.sha512.create(),
)
const anyByte = fc.nat(255).map((code) => String.fromCharCode(code))
const anyPassword = fc.oneof(fc.string({ unit: anyByte, maxLength: 80 }), fc.string({ unit: 'binary' }))
const anySalt = fc
  .uint8Array({ minLength: 1, maxLength: 150 })
  .map((bytes) => Buffer.from(bytes).toString('latin1'))
const anyIterations = fc.integer({ min: 1, max: 20 })
const anyLength = fc.integer({ min: 1, max: 140 })

it('derives the same keys for PKCS12 stores as the library', () => {
  const anyStorePassword = fc.option(anyPassword)
  const anyPurpose = fc.constantFrom(1, 2, 3)
  fc.assert(
    fc.property(
      anyStorePassword,
      anySalt,
      anyPurpose,
      anyIterations,
      anyLength,
      fc.option(anyDigest, { nil: undefined }),
      (password, salt, purpose, iterations, length, digest) => {
        const [expected, actual] = [generateKey, forge.pkcs12.generateKey].map((derive) =>
          derive(password, forge.util.createBuffer(salt), purpose, iterations, length, digest?.()).toHex(),
        )
        assert.equal(actual, expected)
      },
    ),
  )
})

it('derives the same keys with PBKDF2 as the library', () => {
  fc.assert(
    fc.property(
      anyPassword,
      anySalt,
      anyIterations,
      anyLength,
      anyDigest,
      (password, salt, iterations, length, digest) => {
        const [expected, actual] = [pbkdf2, forge.pkcs5.pbkdf2].map((derive) =>
          derive(password, salt, iterations, length, digest()),
        )
        assert.equal(actual, expected)
      },
    ),
  )
})

it('refuses to derive a key without iterations', () => {
  assert.throws(
    () => forge.pkcs12.generateKey('a', forge.util.createBuffer('b'), 1, 0, 20),
    /^RangeError: Invalid number of iterations \[0\]: expected at least 1$/,
  )
})
