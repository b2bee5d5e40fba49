import assert from 'node:assert/strict'
import { Duplex } from 'node:stream'
import { test } from 'node:test'
import { waitUntil } from '../testing/index.ts'
import { discardRest } from './discard-rest.ts'

test('the rest of refused requests is discarded slowly enough for other requests', async () => {
  let discardedBytes = 0
  const endless = () =>
    new Duplex({
      read() {
        this.push(Buffer.alloc(65_536))
      },
      write: (_chunk, _encoding, callback) => callback(),
    }).on('data', (chunk: Buffer) => {
      discardedBytes += chunk.length
    })
  const sockets = [endless(), endless()]
  try {
    for (const socket of sockets) discardRest(socket)
    await waitUntil(
      'all are paused',
      () => sockets.every((socket) => socket.isPaused()),
      (arePaused) => arePaused,
      { pollMs: 1 },
    )
    assert.ok(discardedBytes <= 8 * 1024 * 1024, `${discardedBytes} bytes`)
    const before = discardedBytes
    await waitUntil(
      'more is discarded',
      () => discardedBytes > before + 4 * 1024 * 1024,
      (isMore) => isMore,
    )
  } finally {
    for (const socket of sockets) socket.destroy()
  }
})
