import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { identifier, literal } from './sql.ts'

describe('a string literal', () => {
  for (const [text, sql] of [
    ['', "''"],
    ["it's", "'it''s'"],
    ['a\0b', "('a' || chr(0) || 'b')"],
    ["\0'", "('' || chr(0) || '''')"],
  ] as const) {
    it(`quotes ${JSON.stringify(text)}`, () => assert.equal(literal(text), sql))
  }
})

describe('an identifier', () => {
  it('is quoted', () => assert.equal(identifier('a"b'), '"a""b"'))

  it('is rejected if it contains a NUL character', () =>
    assert.throws(() => identifier('a\0"b'), {
      code: 'invalidInput',
      message: 'Invalid column name [a\\u0000"b]: expected a name without control characters',
    }))
})
