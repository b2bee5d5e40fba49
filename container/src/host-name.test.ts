import assert from 'node:assert/strict'
import { test } from 'node:test'
import { reverseName, withHostName, withoutNetwork } from './host-name.ts'

test('the reverse DNS name of an address has its parts in reverse order', () => {
  assert.equal(reverseName('172.18.0.5'), '5.0.18.172.in-addr.arpa')
})

const names: { name: string; expect: string }[] = [
  { name: 'svc-historical-2.svc_default', expect: 'svc-historical-2' },
  { name: 'svc-historical-2.a.network', expect: 'svc-historical-2' },
  { name: 'svc-historical-2', expect: 'svc-historical-2' },
]
for (const { name, expect } of names) {
  test(`the container of [${name}] is [${expect}]`, () => assert.equal(withoutNetwork(name), expect))
}

test('inserts the host name only in properties, at every placeholder', () => {
  const environment = {
    svc_host: '{host}',
    svc_segmentCache_locations: '[{"path":"/a/{host}/b/{host}"}]',
    svc_tlsPort: '8281',
    OTHER: '{host}',
  }
  assert.deepEqual(withHostName(environment, 'svc-historical-2'), {
    svc_host: 'svc-historical-2',
    svc_segmentCache_locations: '[{"path":"/a/svc-historical-2/b/svc-historical-2"}]',
    svc_tlsPort: '8281',
  })
})
