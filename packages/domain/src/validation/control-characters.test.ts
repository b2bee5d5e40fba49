import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { cutText, escapeControlCharacters, escapeInvisible, hasControlCharacter } from './index.ts'

const rows: readonly [text: string, escaped: string][] = [
  ['admin', 'admin'],
  ['', ''],
  ['jürgen 🐨 \u2028', 'jürgen 🐨 \u2028'],
  ['CORP\\admin', 'CORP\\admin'],
  ['admin\0', 'admin\\u0000'],
  ['a\tb\nc', 'a\\u0009b\\u000ac'],
  ['\u007f\u0085\u009f', '\\u007f\\u0085\\u009f'],
  ['\ud83d', '\\ud83d'],
  ['\udc28\ud83d', '\\udc28\\ud83d'],
  ['🐨\udc28', '🐨\\udc28'],
]

describe('control characters and unpaired surrogates', () => {
  for (const [text, escaped] of rows) {
    it(`are ${text === escaped ? 'not found' : 'escaped'} in ${JSON.stringify(text)}`, () => {
      assert.equal(hasControlCharacter(text), text !== escaped)
      assert.equal(escapeControlCharacters(text), escaped)
    })
  }
})

it('marks that change the direction of text are escaped where people read it, but are allowed in names', () => {
  const text = 'a\u202ab\u202e\u2066\u2069\u200e\u200f\u061c\0'
  assert.equal(escapeInvisible(text), 'a\\u202ab\\u202e\\u2066\\u2069\\u200e\\u200f\\u061c\\u0000')
  assert.equal(escapeInvisible('ελή \u05d0 🐨'), 'ελή \u05d0 🐨')
  assert.equal(hasControlCharacter('\u202e'), false)
})

describe('cutText', () => {
  for (const [text, maxLength, cut] of [
    ['abc', 3, 'abc'],
    ['abc', 2, 'ab'],
    ['a🐨b', 4, 'a🐨b'],
    ['a🐨b', 3, 'a🐨'],
    ['a🐨b', 2, 'a'],
    ['🐨', 1, ''],
  ] as const) {
    it(`cuts [${text}] to [${cut}] for a max length of ${maxLength}`, () =>
      assert.equal(cutText(text, maxLength), cut))
  }
})
