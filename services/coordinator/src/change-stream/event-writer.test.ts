import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { describe, it } from 'node:test'
import { waitUntil } from '@svc/shared/testing'
import { createEventWriter } from './index.ts'

const changes = { name: 'changes', id: 'x.1', data: { rules: ['wiki'] } }
const never = new AbortController().signal

describe('server-sent events', () => {
  it('have a name, an id, and JSON', async () => {
    const response = new PassThrough()
    const writer = createEventWriter(response, never)
    await writer.write(changes)
    await writer.writeHeartbeat()
    response.end()
    assert.equal(
      (await response.toArray()).join(''),
      'event: changes\nid: x.1\ndata: {"rules":["wiki"]}\n\n: alive\n\n',
    )
  })

  it('wait for a reader, so that at most one event is in memory', async () => {
    const response = new PassThrough({ highWaterMark: 1 })
    const writer = createEventWriter(response, never)
    let isWritten = false
    const writing = writer.write(changes).then(() => {
      isWritten = true
    })
    await new Promise((resolve) => setImmediate(resolve))
    assert.equal(isWritten, false)
    response.resume()
    await writing
    assert.equal(writer.isOpen, true)
  })

  it('end with the reason for a reader that does not read', async () => {
    const response = new PassThrough({ highWaterMark: 1 })
    const writer = createEventWriter(response, never, 50)
    await writer.write(changes)
    assert.equal(writer.isOpen, false)
    await writer.write(changes)
    const text = (await response.toArray()).join('')
    assert.match(text, /^event: changes\n/)
    assert.match(text, /event: end\ndata: {"reason":"The client did not read an event within \[50\] ms/)
    assert.equal(text.match(/event: changes/g)!.length, 1)
  })

  it('disconnect a reader that does not read the reason either', async () => {
    const response = new PassThrough({ highWaterMark: 1 })
    await createEventWriter(response, never, 20).write(changes)
    await waitUntil('the reader is disconnected', () => response.destroyed)
  })

  it('end for a reader that has left', async () => {
    const left = new AbortController()
    const response = new PassThrough({ highWaterMark: 1 })
    const writer = createEventWriter(response, left.signal)
    const writing = writer.write(changes)
    left.abort()
    await writing
    assert.equal(writer.isOpen, false)
  })
})
