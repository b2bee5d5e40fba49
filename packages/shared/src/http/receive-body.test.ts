import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, request as sendRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { waitUntil } from '../testing/index.ts'
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

test('refused bodies are drained slowly enough for other requests', async () => {
  let drainedBytes = 0
  const endless = () => {
    const stream = new Readable({ read: () => void stream.push(Buffer.alloc(65_536)) })
    stream.on('data', (chunk: Buffer) => {
      drainedBytes += chunk.length
    })
    return Object.assign(stream, { complete: false, socket: { destroy: () => undefined } })
  }
  const bodies = [endless(), endless()]
  try {
    for (const body of bodies) drain(body as unknown as IncomingMessage)
    await waitUntil(
      'all are paused',
      () => bodies.every((body) => body.isPaused()),
      (arePaused) => arePaused,
      { pollMs: 1 },
    )
    assert.ok(drainedBytes <= 8 * 1024 * 1024, `${drainedBytes} bytes`)
    const before = drainedBytes
    await waitUntil(
      'they are drained further',
      () => drainedBytes > before + 4 * 1024 * 1024,
      (isFurther) => isFurther,
    )
  } finally {
    for (const body of bodies) body.destroy()
  }
})
