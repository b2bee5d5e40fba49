import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import fc from 'fast-check'
import pg from 'pg'
import { textArray } from './text-array.ts'

// The driver's parser of `text[]`, whose number is missing in the types of the driver.
const parse = pg.types.getTypeParser(1009 as never) as (text: string) => string[]

test('the text of an array has the texts of the list', () => {
  const text = fc.oneof(
    fc.string(),
    fc.string({ unit: fc.constantFrom('"', '\\', ',', '{', '}', ' ', '\n', 'a') }),
    fc.constantFrom('', 'NULL', 'null', ' ', 'ü🐨'),
  )
  fc.assert(
    fc.property(fc.array(text, { maxLength: 20 }), (texts) => {
      assert.deepEqual(parse(textArray(texts)), texts)
    }),
  )
})

test('does not escape texts one by one if there is nothing to escape', () => {
  const texts = Array.from({ length: 100_000 }, (_, index) => `v${index}`)
  const replace = mock.method(String.prototype, 'replace')
  const text = textArray(texts)
  const { length } = replace.mock.calls
  replace.mock.restore()
  assert.equal(length, 0)
  assert.equal(text, `{${texts.map((one) => `"${one}"`).join(',')}}`)
})
