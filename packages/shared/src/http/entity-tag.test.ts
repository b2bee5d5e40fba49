import assert from 'node:assert/strict'
import { test } from 'node:test'
import { entityTag, versionCheck, versionOfText } from './index.ts'

test('a change that requires another version is a conflict', () => {
  const check = (required: string | undefined) =>
    versionCheck({ headers: required === undefined ? {} : { 'if-match': required } }, 'the rules of [wiki]')
  for (const required of [undefined, '*', entityTag(7).ETag, `"6", ${entityTag(7).ETag}`])
    assert.doesNotThrow(() => check(required)(7))
  for (const required of ['"6"', '7', '"77"', ''])
    assert.throws(() => check(required)(7), {
      code: 'conflict',
      message: 'Another request has changed the rules of [wiki] in the meantime',
    })
  assert.notEqual(versionOfText('a'), versionOfText('b'))
})
