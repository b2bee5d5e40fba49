import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { generatedPassword, isGeneratedPassword } from './generated-password.ts'

const random = 'AbCdEfGhIjKlMnOpQrStUvWxYz012345'

describe('a generated password', () => {
  it('starts with the random characters, and is recognized', () => {
    const password = generatedPassword(random)
    assert.equal(password.length, 32)
    assert.equal(password.slice(0, 25), random.slice(0, 25))
    assert.match(password, /^[\w-]+$/)
    assert.ok(isGeneratedPassword(password))
  })

  it('always has 32 characters', () => {
    for (let number = 0; number < 10_000; number++) {
      const password = generatedPassword(String(number).padStart(25, '-'))
      assert.equal(password.length, 32)
      assert.ok(isGeneratedPassword(password))
    }
  })

  it('needs enough random characters', () => {
    assert.throws(() => generatedPassword(random.slice(0, 24)), /Expected \[25\] random characters/)
  })

  const password = generatedPassword(random)
  for (const [name, other] of [
    ['another random character', `B${password.slice(1)}`],
    ['another checksum', `${password.slice(0, -1)}${password.endsWith('0') ? '1' : '0'}`],
    ['a character in addition', `${password}0`],
    ['no checksum', random],
    ['a password that a user has chosen', 'correct-horse-battery-staple-123'],
    ['an empty password', ''],
  ] as const) {
    it(`is not recognized with ${name}`, () => assert.equal(isGeneratedPassword(other), false))
  }
})
