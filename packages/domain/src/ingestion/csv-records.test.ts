import assert from 'node:assert/strict'
import { test } from 'node:test'
import { csvRecords } from './index.ts'

const cases: readonly [text: string, fields: string[][], end: 'text' | 'quoted'][] = [
  ['', [['']], 'text'],
  ['a,b', [['a', 'b']], 'text'],
  ['a\n\nb\r\nc\rd', [['a'], [''], ['b'], ['c'], ['d']], 'text'],
  ['"a,""b""\r\nc",d\n', [['a,"b"\r\nc', 'd'], ['']], 'text'],
  ['a"b,""', [['a"b', '']], 'text'],
  ['a,"b\nc', [['a', 'b\nc']], 'quoted'],
]
for (const [text, fields, end] of cases)
  test(`reads ${JSON.stringify(text)}`, () => {
    const records = [...csvRecords(text, { delimiter: ',', quote: '"' })]
    assert.deepEqual(
      records.map((record) => record.fields),
      fields,
    )
    assert.deepEqual(
      records.map((record) => record.end),
      [...fields.slice(1).map(() => 'line'), end],
    )
  })

test('uses other delimiters and quotes', () => {
  const [record] = csvRecords("'a\tb'\tc", { delimiter: '\t', quote: "'" })
  assert.deepEqual(record?.fields, ['a\tb', 'c'])
})
