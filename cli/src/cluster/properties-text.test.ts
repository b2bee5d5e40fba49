import assert from 'node:assert/strict'
import { test } from 'node:test'
import { propertiesText } from './properties-text.ts'

const cases: { name: string; given: Record<string, string>; expect: string }[] = [
  {
    name: 'plain',
    given: { 'svc.host': '127.0.0.1', 'svc.tier': 'a' },
    expect: 'svc.host=127.0.0.1\nsvc.tier=a\n',
  },
  { name: 'separators in a value', given: { a: 'b=c:d#e!f' }, expect: 'a=b=c:d#e!f\n' },
  { name: 'separators in a name', given: { 'a b:c=d#e!': 'x' }, expect: 'a\\ b\\:c\\=d\\#e\\!=x\n' },
  { name: 'JSON', given: { a: '["x","y"]' }, expect: 'a=["x","y"]\n' },
  { name: 'a backslash', given: { a: 'C:\\new' }, expect: 'a=C:\\\\new\n' },
  { name: 'line ends and tabs', given: { a: 'b\nc\rd\te' }, expect: 'a=b\\nc\\rd\\te\n' },
  { name: 'a leading blank', given: { a: '  b ' }, expect: 'a=\\  b \n' },
  { name: 'beyond ASCII', given: { a: 'é€😀' }, expect: 'a=\\u00e9\\u20ac\\ud83d\\ude00\n' },
  { name: 'an empty value', given: { a: '' }, expect: 'a=\n' },
]

for (const { name, given, expect } of cases) {
  test(name, () => assert.equal(propertiesText(given), expect))
}
