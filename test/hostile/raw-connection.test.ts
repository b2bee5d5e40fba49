import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type RawResponse, readResponses } from './raw-connection.ts'

const received = [
  'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n',
  '3\r\n[1,\r\n4\r\n\r\n2]\r\n0\r\n\r\n',
  'HTTP/1.1 429 Too Many Requests\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n\r\nbusy',
  'HTTP/1.1 204 No Content\r\n\r\n',
].join('')
const expected: readonly RawResponse[] = [
  { status: 200, contentType: 'application/json', text: '[1,\r\n2]' },
  { status: 429, contentType: 'text/plain', text: 'busy' },
  { status: 204, contentType: '', text: '' },
]

/** Returns the responses in texts that arrive one after the other. */
function readAll(texts: Iterable<string>): RawResponse[] {
  const responses: RawResponse[] = []
  const reader = readResponses(responses)
  reader.next()
  for (const text of texts) reader.next(text)
  return responses
}

describe('responses of a connection', () => {
  for (const size of [1, 2, 3, 7, 64, received.length])
    it(`are read in pieces of ${size} bytes`, () => {
      const pieces = received.match(new RegExp(`[^]{1,${size}}`, 'g'))!
      assert.deepEqual(readAll(pieces), expected)
    })

  it('end at something that is not a response', () => {
    assert.deepEqual(readAll([received, 'SSH-2.0\r\n\r\n', received]), expected)
  })
})
