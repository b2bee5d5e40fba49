import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, request as sendRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { drain } from './receive-body.ts'

test('the rest of a body is drained while an iterator still waits for a chunk of it', async () => {
  const server = createServer((request, response) => {
    const iterator = request.iterator({ destroyOnReturn: false })
    const readTwice = async () => {
      await iterator.next()
      const second = iterator.next()
      drain(request)
      response.writeHead(400).flushHeaders()
      await second
      await iterator.return?.()
    }
    request.once('end', () => response.end('drained'))
    readTwice().catch((error: unknown) => response.destroy(error as Error))
  }).listen(0, '127.0.0.1')
  try {
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const sent = sendRequest({ port, method: 'POST', headers: { 'content-length': 1_000_001 } })
    sent.write('1')
    const [response] = await once(sent, 'response')
    sent.end('1'.repeat(1_000_000))
    assert.equal((await response.toArray()).join(''), 'drained')
  } finally {
    server.closeAllConnections()
    server.close()
  }
})
