import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  canonicalJson,
  joinedListTexts,
  jsonListOfTexts,
  jsonObjectOfTexts,
  withFieldsFirst,
} from './index.ts'

test('composes JSON of values that are JSON already', () => {
  const object = fc.dictionary(fc.string(), fc.jsonValue())
  const texts = (values: readonly unknown[]) => values.map((value) => JSON.stringify(value))
  fc.assert(
    fc.property(object, (value) => {
      const members = Object.entries(value).map(([name, member]) => [name, JSON.stringify(member)] as const)
      assert.equal(jsonObjectOfTexts(members), JSON.stringify(value))
      assert.equal(jsonListOfTexts(texts(Object.values(value))), JSON.stringify(Object.values(value)))
    }),
  )
  assert.equal(joinedListTexts(['[]', '[1,2]', '[]', '[3]']), '[1,2,3]')
  assert.equal(joinedListTexts(['[]', '[]']), '[]')
  assert.equal(withFieldsFirst({ b: 1, c: undefined }, '{"a":[2]}'), '{"b":1,"a":[2]}')
})

test('equal values have equal canonical texts', () => {
  assert.equal(canonicalJson({ b: [{ d: null, c: 'ä' }], a: undefined }), '{"b":[{"c":"ä","d":null}]}')
  assert.equal(canonicalJson({ b: [null, { d: null }], a: null }, { withoutNulls: true }), '{"b":[null,{}]}')
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.string(), fc.jsonValue())), (entries) => {
      const unique = [...new Map(entries)]
      const [one, other] = [Object.fromEntries(unique), Object.fromEntries(unique.toReversed())]
      assert.equal(canonicalJson(one), canonicalJson(other))
      assert.deepEqual(JSON.parse(canonicalJson(one)), JSON.parse(JSON.stringify(one)))
    }),
  )
})
