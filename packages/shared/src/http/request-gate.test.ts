import assert from 'node:assert/strict'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { httpRequest, waitUntil } from '../testing/index.ts'
import { createRequestGate } from './request-gate.ts'

const ignoredPath = '/ignored'

/** Starts a server behind a gate that is closed. */
async function startGate(context: TestContext) {
  const gate = createRequestGate(ignoredPath)
  const server = createServer(gate.handle)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  context.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const send = async (path = '/', body?: string): Promise<string> => {
    const method = body === undefined ? 'GET' : 'POST'
    return (await httpRequest(port, { method, path, body })).text
  }
  return { gate, send }
}

const answering = (text: string) => (_request: unknown, response: ServerResponse) => response.end(text)

describe('a gate for requests', () => {
  it('makes requests wait until it opens, with their bodies', async (context) => {
    const { gate, send } = await startGate(context)
    const answers = Promise.all([send(), send('/', 'the body')])
    await delay(20)
    gate.open(async (request, response) => {
      const body: Buffer[] = await request.toArray()
      response.end(`${request.method} ${Buffer.concat(body)}`)
    })
    assert.deepEqual(await answers, ['GET ', 'POST the body'])
  })

  it('passes later requests to another application', async (context) => {
    const { gate, send } = await startGate(context)
    gate.open(answering('first'))
    assert.equal(await send(), 'first')
    await gate.close(10_000)
    const waiting = send()
    gate.open(answering('second'))
    assert.equal(await waiting, 'second')
  })

  it('waits for requests in progress when it closes, except to one path', async (context) => {
    const { gate, send } = await startGate(context)
    const inProgress = new Map<string, ServerResponse>()
    gate.open(({ url = '' }, response) => {
      inProgress.set(url, response)
    })
    const answers = Promise.all([send('/slow'), send(ignoredPath)])
    await waitUntil('both requests are in progress', () => inProgress.size === 2)
    let isClosed = false
    const closed = gate.close(10_000).then(() => {
      isClosed = true
    })
    await delay(20)
    assert.equal(isClosed, false)
    inProgress.get('/slow')!.end('slow')
    await closed
    inProgress.get(ignoredPath)!.end('ignored')
    assert.deepEqual(await answers, ['slow', 'ignored'])
  })

  it('waits no longer than requested', async (context) => {
    const { gate, send } = await startGate(context)
    const arrived = Promise.withResolvers<ServerResponse>()
    gate.open((_request, response) => arrived.resolve(response))
    const answer = send()
    const response = await arrived.promise
    await gate.close(20)
    response.end('late')
    assert.equal(await answer, 'late')
  })

  it('forgets requests whose callers have left', async (context) => {
    const { gate } = await startGate(context)
    let passed = 0
    const left = { destroyed: true } as ServerResponse
    gate.handle({} as never, left as never)
    gate.open(() => {
      passed += 1
    })
    assert.equal(passed, 0)
  })
})
