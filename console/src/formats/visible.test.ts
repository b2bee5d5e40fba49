import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isTypedName, visible } from './visible.ts'

test('shows a sign for each character that would be invisible or turn the text around', () => {
  assert.equal(visible('a\u202eb\u2066c\u200fd\ne\u061cf'), 'a␣b␣c␣d␣e␣f')
  assert.equal(visible('<b> "quoted" schön 日本'), '<b> "quoted" schön 日本')
})

for (const [typed, name, isSame] of [
  ['koalas', 'koalas', true],
  ['koala', 'koalas', false],
  ['', '\u202e', false],
  ['x \u202eevil\u202c', 'x \u202eevil\u202c', true],
  ['x ␣evil␣', 'x \u202eevil\u202c', true],
  ['x evil', 'x \u202eevil\u202c', true],
  ['xevil', 'x \u202eevil\u202c', false],
  ['a  b', 'a b', true],
] as const)
  test(`accepts ${JSON.stringify(typed)} for ${JSON.stringify(name)}: ${isSame}`, () => {
    assert.equal(isTypedName(typed, name), isSame)
  })
