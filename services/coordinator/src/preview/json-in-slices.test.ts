import assert from 'node:assert/strict'
import { test } from 'node:test'
import { jsonInSlices } from './json-in-slices.ts'

/** Returns the JSON of an object, and the number of pauses. */
function inSlices(value: object): { readonly json: string; readonly pauses: number } {
  const slices = jsonInSlices(value)
  for (let pauses = 0; ; pauses += 1) {
    const { done, value: json } = slices.next()
    if (done) return { json, pauses }
  }
}

for (const value of [
  {},
  { a: [], b: {}, c: null, d: undefined, e: 'x"y' },
  { list: [{ a: [1, { b: 2 }] }, null, 'x'], levels: { two: { three: { four: { five: [1] } } } } },
]) {
  test(`the JSON of ${JSON.stringify(value)} is the same with pauses`, () => {
    assert.deepEqual(inSlices(value), { json: JSON.stringify(value), pauses: 0 })
  })
}

test('pauses in long lists and large objects', () => {
  const texts = Array.from({ length: 1000 }, () => 'x'.repeat(1000))
  for (const value of [{ texts }, { a: { b: { ...texts } } }]) {
    const { json, pauses } = inSlices(value)
    assert.equal(json, JSON.stringify(value))
    assert.equal(pauses, 5)
  }
})
