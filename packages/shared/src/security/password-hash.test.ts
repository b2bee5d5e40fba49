import assert from 'node:assert/strict'
import crypto, { scryptSync } from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import { after, describe, it, mock } from 'node:test'
import { generatedPassword } from '@svc/domain/access'
import {
  type Credentials,
  hashPassword,
  isOutdated,
  unknownUserCredentials,
  verifyPassword,
} from './password-hash.ts'

/** Records hash computations, and still does them. */
const hashing = mock.method(crypto, 'scrypt')
syncBuiltinESMExports()
after(() => {
  hashing.mock.restore()
  syncBuiltinESMExports()
})

const parameters = { algorithm: 'scrypt', cost: 16, blockSize: 1, parallelization: 1 } as const

describe('the hash of a password', () => {
  it('matches only this password', async () => {
    const credentials = await hashPassword('correct horse')
    assert.equal(await verifyPassword('correct horse', credentials), true)
    for (const wrong of ['correct horse ', '']) assert.equal(await verifyPassword(wrong, credentials), false)
  })

  it('has a new salt each time, and does not contain the password', async () => {
    const [one, two] = await Promise.all([hashPassword('secret'), hashPassword('secret')])
    assert.notEqual(one.salt, two.salt)
    assert.notEqual(one.hash, two.hash)
    assert.equal(Buffer.from(one.salt, 'base64').length, 16)
    assert.equal(Buffer.from(one.hash, 'base64').length, 32)
    assert.ok(!JSON.stringify(one).includes('secret'))
  })

  // RFC 7914 section 12, cut to the stored length.
  it('is scrypt with the stored parameters', async () => {
    const salt = Buffer.from('SodiumChloride').toString('base64')
    const hash = Buffer.from(
      '7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2',
      'hex',
    ).toString('base64')
    const stored: Credentials = {
      algorithm: 'scrypt',
      cost: 16384,
      blockSize: 8,
      parallelization: 1,
      salt,
      hash,
    }
    assert.equal(await verifyPassword('pleaseletmein', stored), true)
    assert.equal(await verifyPassword('pleaseletmein', { ...stored, blockSize: 4 }), false)
  })

  it('may have outdated parameters', async () => {
    for (const [cost, blockSize, parallelization] of [
      [2, 1, 1],
      [1024, 8, 2],
      [32768, 8, 1],
    ] as const) {
      const hash = scryptSync('p', 'salt', 32, {
        N: cost,
        r: blockSize,
        p: parallelization,
        maxmem: 256 * blockSize * (cost + parallelization),
      })
      const salt = Buffer.from('salt').toString('base64')
      const stored = {
        algorithm: 'scrypt',
        cost,
        blockSize,
        parallelization,
        salt,
        hash: hash.toString('base64'),
      } as const
      assert.equal(await verifyPassword('p', stored), true)
      assert.equal(await verifyPassword('q', stored), false)
    }
  })

  for (const hash of ['', 'AAAA', Buffer.alloc(31).toString('base64'), Buffer.alloc(64).toString('base64')]) {
    it(`of ${Buffer.from(hash, 'base64').length} bytes matches nothing`, async () => {
      assert.equal(await verifyPassword('', { ...parameters, salt: 'AAAA', hash }), false)
    })
  }

  it('of an unknown user matches no password', async () => {
    assert.equal(await verifyPassword('x', unknownUserCredentials), false)
  })

  it('takes almost no work for a generated password, which nobody can guess', async () => {
    const generated = generatedPassword('AbCdEfGhIjKlMnOpQrStUvWxY')
    const credentials = await hashPassword(generated)
    assert.deepEqual([credentials.cost, credentials.blockSize, credentials.parallelization], [2, 8, 1])
    assert.equal(await verifyPassword(generated, credentials), true)
    assert.equal(isOutdated(generated, credentials), false)
    assert.equal(isOutdated('correct horse', credentials), true)
    assert.equal(isOutdated(generated, await hashPassword('correct horse')), true)
  })

  it('takes as much work for a wrong password as for an unknown user, even if the password was generated', async () => {
    const stored = await hashPassword(generatedPassword('AbCdEfGhIjKlMnOpQrStUvWxY'))
    for (const credentials of [stored, await hashPassword('correct horse'), unknownUserCredentials]) {
      hashing.mock.resetCalls()
      assert.equal(await verifyPassword('wrong horse', credentials), false)
      const costs = hashing.mock.calls.map(({ arguments: [, , , { N = 0, p = 0 }] }) => N * p)
      assert.deepEqual(
        costs.filter((cost) => cost > 2),
        [2 ** 14 * 5],
      )
    }
  })
})
