import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { test } from 'node:test'
import { isListening, reachesListener } from './health.ts'

const host = '127.0.0.1'

test('a port is reached only while a process listens', async () => {
  const server = createServer().listen(0, host)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  assert.equal(await isListening(`http://${host}:${port}`), true)
  await new Promise((resolve) => server.close(resolve))
  assert.equal(await isListening(`http://${host}:${port}`), false)
})

test('a connection to itself reaches nobody and leaves the port free', async () => {
  const server = createServer().listen(0, host)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  assert.equal(await reachesListener(connect({ host, port, localPort: port })), false)
  const next = createServer().listen(port, host)
  await once(next, 'listening')
  await new Promise((resolve) => next.close(resolve))
})
