import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import { jsonList } from '@svc/domain/json'
import express from 'express'
import { createTurns } from '../slices/index.ts'
import { httpRequest } from '../testing/index.ts'
import { JsonPieces } from './index.ts'
import { sendPieces } from './json-pieces.ts'

const nextTurn = createTurns()

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
  // A socket that reads nothing.
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
  const { json } = await httpRequest(await listen(context, app), { path: '/' })
  assert.deepEqual(json, texts)
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
  const port = await listen(context, app)
  const responses = 10
  const texts = await Promise.all(
    Array.from({ length: responses }, async () => (await httpRequest(port, { path: '/' })).json),
  )
  assert.ok(texts.every((list) => Array.isArray(list) && list.length === chunks))
  assert.equal(turns.length, responses * chunks)
  const inOneTurn = [...Map.groupBy(turns, (one) => one).values()].map(({ length }) => length)
  // The first chunk of a response does not wait for its turn.
  const together = inOneTurn.reduce((sum, length) => sum + length - 1, 0)
  assert.ok(together <= responses, `${together}`)
})
