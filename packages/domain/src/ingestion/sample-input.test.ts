import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sampleInput } from './index.ts'

test('detects the columns of a CSV file, with quoted values', () => {
  const text = 'time,"page, or not",added\r\n2026-01-01T00:00:00Z,"a ""b""\nc",1\r\n2026-01-02,d,-2.5\r\n'
  assert.deepEqual(sampleInput(text), {
    format: 'csv',
    timestamp: 'time',
    columns: [
      { name: 'time', kind: 'time', examples: ['2026-01-01T00:00:00Z', '2026-01-02'] },
      { name: 'page, or not', kind: 'text', examples: ['a "b"\nc', 'd'] },
      { name: 'added', kind: 'number', examples: ['1', '-2.5'] },
    ],
  })
})

test('detects the columns of JSON Lines, which may differ between lines', () => {
  const text = '{"page":"a","ts":1767225600000,"day":"2026-01-01"}\n{"user":null,"tags":["x"],"page":"a"}\n'
  assert.deepEqual(sampleInput(text), {
    format: 'json',
    timestamp: 'ts',
    columns: [
      { name: 'page', kind: 'text', examples: ['a'] },
      { name: 'ts', kind: 'time', examples: ['1767225600000'] },
      { name: 'day', kind: 'time', examples: ['2026-01-01'] },
      { name: 'user', kind: 'text', examples: [] },
      { name: 'tags', kind: 'text', examples: ['["x"]'] },
    ],
  })
})

test('finds times with a space, and no timestamp where there are no times', () => {
  assert.equal(sampleInput('a,b\n1,2026-01-01 10:00:00\n').timestamp, 'b')
  assert.equal(sampleInput('a,b\n1,x\n').timestamp, undefined)
})

test('reads only the first rows of a long file', () => {
  const rows = Array.from({ length: 1000 }, (_, row) => (row < 100 ? '1' : 'x'))
  assert.equal(sampleInput(`a\n${rows.join('\n')}`).columns[0]!.kind, 'number')
})

for (const [text, message] of [
  ['', /The file is empty/],
  ['[{"a":1}]', /expected CSV, or JSON Lines/],
  ['{"a":1}\n{"a"\n', /Invalid line \[2\]: expected a JSON object/],
  ['{"a":1}\n{"a":1} 2', /Invalid line \[2\]/],
  ['a,b\n', /expected a header line and at least one row/],
] as const)
  test(`rejects ${JSON.stringify(text)}`, () => assert.throws(() => sampleInput(text), message))
