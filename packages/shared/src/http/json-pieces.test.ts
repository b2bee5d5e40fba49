import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import express from 'express'
import fc from 'fast-check'
import { createTurns } from '../slices/index.ts'
import { JsonPieces, jsonList, jsonListOf, jsonObject, jsonObjectOf, jsonOf } from './index.ts'
import { sendPieces } from './json-pieces.ts'

const nextTurn = createTurns()

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

/** Returns the object as JSON.parse returns it, also with fields such as `__proto__`. */
const parsed = (entries: readonly (readonly [string, unknown])[]): unknown =>
  JSON.parse(JSON.stringify(Object.fromEntries(entries)))

/** Serves an application until the test ends; returns its port. */
async function listen(context: TestContext, app: express.Express): Promise<number> {
  const server: Server = app.listen(0, '127.0.0.1')
  context.after(() => server.close())
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

test('a caller that receives nothing for too long is disconnected', async (context) => {
  const endless = (async function* (): AsyncGenerator<string> {
    for (;;) yield 'x'.repeat(1000)
  })()
  const sent = Promise.withResolvers<void>()
  const leaving = new AbortController()
  const app = express().get('/', async (_request, response) => {
    response.once('close', () => leaving.abort())
    sendPieces(response, new JsonPieces(endless), false, leaving.signal, { nextTurn, maxStallMs: 20 }).then(
      sent.resolve,
      sent.reject,
    )
  })
  const socket = connect(await listen(context, app), '127.0.0.1')
  context.after(() => socket.destroy())
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  await once(socket, 'readable')
  await sent.promise
  assert.deepEqual(await endless.next(), { done: true, value: undefined })
})

test('a long text is sent in chunks that do not split characters', async (context) => {
  const texts = [0, 1, 2].map((length) => `${'x'.repeat(length)}${'😀'.repeat(100_000)}`)
  const app = express().get('/', (_request, response) => {
    const pieces = new JsonPieces(jsonList(texts.map((text) => [JSON.stringify(text)])))
    void sendPieces(response, pieces, false, new AbortController().signal, { nextTurn })
  })
  const answer = await fetch(`http://127.0.0.1:${await listen(context, app)}/`)
  assert.deepEqual(await answer.json(), texts)
})

test('many long responses at once generate one chunk at a time, and let other work run in between', async (context) => {
  let turn = 0
  const turns: number[] = []
  let isOver = false
  const count = (): void => {
    turn += 1
    if (!isOver) setImmediate(count)
  }
  count()
  context.after(() => {
    isOver = true
  })
  const chunks = 20
  const long = (): AsyncGenerator<string> =>
    jsonList(
      (function* (): Generator<string[]> {
        for (let chunk = 0; chunk < chunks; chunk += 1) {
          turns.push(turn)
          yield [JSON.stringify('x'.repeat(40_000))]
        }
      })(),
    )
  const app = express().get('/', (_request, response) => {
    void sendPieces(response, new JsonPieces(long()), false, new AbortController().signal, { nextTurn })
  })
  const url = `http://127.0.0.1:${await listen(context, app)}/`
  const responses = 10
  const texts = await Promise.all(
    Array.from({ length: responses }, async () => await (await fetch(url)).json()),
  )
  assert.ok(texts.every((list) => Array.isArray(list) && list.length === chunks))
  assert.equal(turns.length, responses * chunks)
  const inOneTurn = [...Map.groupBy(turns, (one) => one).values()].map(({ length }) => length)
  // The first chunk of a response does not wait for its turn.
  const together = inOneTurn.reduce((sum, length) => sum + length - 1, 0)
  assert.ok(together <= responses, `${together}`)
})
