import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { jsonList, jsonListOf, jsonObject, jsonObjectOf, jsonOf } from './index.ts'

/** Returns the text of all pieces. */
async function textOf(pieces: AsyncIterable<string>): Promise<string> {
  let text = ''
  for await (const piece of pieces) text += piece
  return text
}

const members = fc.uniqueArray(fc.tuple(fc.string(), fc.jsonValue()), { selector: ([name]) => name })

test('pages of any size become one list or one object', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(fc.jsonValue())), async (pages) => {
      const texts = pages.map((page) => page.map((value) => JSON.stringify(value)))
      assert.equal(await textOf(jsonList(texts)), JSON.stringify(pages.flat()))
    }),
  )
  await fc.assert(
    fc.asyncProperty(members, fc.nat({ max: 5 }), async (entries, pageLength) => {
      const texts = entries.map(([name, value]) => [name, JSON.stringify(value)] as const)
      const pages = [texts.slice(0, pageLength), [], texts.slice(pageLength)]
      assert.deepEqual(JSON.parse(await textOf(jsonObject(pages))), parsed(entries))
    }),
  )
})

test('values that are generated in pieces become a list or an object', async () => {
  await fc.assert(
    fc.asyncProperty(members, async (entries) => {
      const values = entries.map(([, value]) => value)
      assert.equal(await textOf(jsonListOf(values.map(jsonOf))), JSON.stringify(values))
      const pieces = jsonObjectOf(entries.map(([name, value]) => [name, jsonOf(value)]))
      assert.deepEqual(JSON.parse(await textOf(pieces)), parsed(entries))
    }),
  )
  assert.equal(await textOf(jsonListOf([jsonList([]), jsonObjectOf([])])), '[[],{}]')
})

test('fails before the first piece if the first page cannot be read', async () => {
  const pages = (async function* (): AsyncGenerator<string[]> {
    yield []
    throw new Error('unavailable')
  })()
  await assert.rejects(jsonList(pages).next(), /unavailable/)
})

/** Returns the object as JSON.parse returns it, including fields such as `__proto__`. */
const parsed = (entries: readonly (readonly [string, unknown])[]): unknown =>
  JSON.parse(JSON.stringify(Object.fromEntries(entries)))
