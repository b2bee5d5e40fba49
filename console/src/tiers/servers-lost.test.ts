import assert from 'node:assert/strict'
import { test } from 'node:test'
import { serversLostText } from './servers-lost.ts'

const cases = [
  [0, 0, undefined],
  [0, 5, '5 segments cannot leave the drained servers, because no other server can load them.'],
  [1, 0, '1 segment cannot be queried until other servers have loaded them.'],
  [598, 598, '598 segments cannot be queried anymore: no other server can load them.'],
  [
    5,
    1,
    '5 segments cannot be queried until other servers have loaded them, which is impossible for 1 of them.',
  ],
] as const

for (const [unavailableSegments, unloadableSegments, expected] of cases) {
  test(`${unavailableSegments} unavailable segments, of which ${unloadableSegments} cannot be loaded`, () => {
    const text = serversLostText({ unavailableSegments, unloadableSegments })
    assert.equal(text && `${text.what} ${text.why}`, expected)
  })
}
