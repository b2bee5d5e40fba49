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
