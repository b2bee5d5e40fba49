import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isAllowedPassword, maxPasswordLength } from './login-texts.ts'

describe('a new password of at least 8 characters', () => {
  const rows: readonly [name: string, password: string, isAllowed: boolean][] = [
    ['8 letters', 'abcdefgh', true],
    ['7 letters', 'abcdefg', false],
    ['8 emoji', '😀'.repeat(8), true],
    ['4 emoji, which take 8 UTF-16 units', '😀'.repeat(4), false],
    ['8 spaces', ' '.repeat(8), false],
    ['8 zero-width spaces', '\u200b'.repeat(8), false],
    ['8 different invisible characters', ' \u00a0\u2003\u3000\u200b\u2060\ufeff\u00ad', false],
    ['a letter and 7 spaces', 'a       ', true],
    ['a control character', 'abcdefgh\u0000', false],
    ['the longest', 'x'.repeat(maxPasswordLength), true],
    ['one more than the longest', 'x'.repeat(maxPasswordLength + 1), false],
  ]
  for (const [name, password, isAllowed] of rows) {
    it(`${isAllowed ? 'may be' : 'may not be'} ${name}`, () => {
      assert.equal(isAllowedPassword(password, 8), isAllowed)
    })
  }
})
