import assert from 'node:assert/strict'
import { test } from 'node:test'
import { propertyLines } from './property-lines.ts'

test('properties have the lines of their names, even after continued lines and with Windows line ends', () => {
  const text = '# comment\r\na=1 \r\n\r\nb = \\\r\n  two\r\nc:3\r\n\r\na=4\r\n'
  assert.deepEqual(propertyLines(text), [
    { name: 'a', value: '1 ', line: 2 },
    { name: 'b', value: 'two', line: 4 },
    { name: 'c', value: '3', line: 6 },
    { name: 'a', value: '4', line: 8 },
  ])
})

test('backslashes that start no valid escape are noticed, even in continued lines', () => {
  const backslashOf = (text: string) => propertyLines(`a=${text}\nb=1\n`)[0]?.backslash
  for (const text of [String.raw`CORP\\users`, String.raw`C\:\t\u0041\=`, 'x\\\n  y', '\\u00\\\n  41'])
    assert.equal(backslashOf(text), undefined, text)
  for (const text of [String.raw`CORP\users`, String.raw`\u00zz`, String.raw`a\\\u1`, String.raw`x\u`])
    assert.equal(backslashOf(text), 'fails', text)
  for (const text of [String.raw`CORP\svc`, String.raw`cn=Doe\, Jane`])
    assert.equal(backslashOf(text), 'ignores', text)
})
