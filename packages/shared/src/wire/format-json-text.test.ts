import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { formatInPieces, formatJsonText } from './format-json-text.ts'

/** Finishes a generator; returns its result and the number of its pauses. */
function finish<Result>(steps: Generator<undefined, Result>): { result: Result; pauses: number } {
  for (let pauses = 0; ; pauses += 1) {
    const { done, value } = steps.next()
    if (done) return { result: value, pauses }
  }
}

test('formats any JSON as JSON.stringify does', () => {
  const value = fc.jsonValue({ stringUnit: 'binary', maxDepth: 3 })
  fc.assert(
    fc.property(value, fc.integer({ min: 1, max: 5 }), (value, pieceLength) => {
      const parsed: unknown = JSON.parse(JSON.stringify(value))
      assert.equal(finish(formatInPieces(parsed, pieceLength)).result, JSON.stringify(parsed))
    }),
  )
})

test('keeps fields that are named like members of objects', () => {
  const text = '{"__proto__":{"constructor":[1]},"toString":"\\ud83d","1":null,"":[]}'
  const parsed: unknown = JSON.parse(text)
  assert.equal(finish(formatInPieces(parsed)).result, JSON.stringify(parsed))
})

test('pauses in long strings and long lists, and keeps pairs of surrogates together', async () => {
  const value = { data: '🐯'.repeat(1_000_001), list: Array.from({ length: 100_000 }, (_, index) => index) }
  const { result, pauses } = finish(formatInPieces(value))
  assert.ok(pauses >= 12, `${pauses} pauses`)
  assert.equal(result, JSON.stringify(value))
  assert.equal(await formatJsonText(value), result)
})

for (const value of [
  {},
  { a: [], b: {}, c: null, d: undefined, e: 'x"y', f: [undefined] },
  { list: [{ a: [1, { b: 2 }] }, null, 'x'], levels: { two: { three: { four: { five: [1] } } } } },
])
  test(`the JSON of ${JSON.stringify(value)} is the same with pauses`, () => {
    assert.deepEqual(finish(formatInPieces(value)), { result: JSON.stringify(value), pauses: 0 })
    assert.equal(finish(formatInPieces(value, 1)).result, JSON.stringify(value))
  })

test('pauses in long lists and large objects', () => {
  const texts = Array.from({ length: 1000 }, () => 'x'.repeat(1000))
  const assertPauses = (value: object, containers: number) =>
    assert.deepEqual(finish(formatInPieces(value, 200_000)), {
      result: JSON.stringify(value),
      // After each piece, and after each container, which copies all of them.
      pauses: 5 + containers,
    })
  assertPauses({ texts }, 2)
  assertPauses({ a: { b: { ...texts } } }, 3)
})
