import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { temporaryFolder } from '@svc/shared/testing'
import { parseOptions, type WrittenOptions } from '../cluster-options/index.ts'
import { openHome } from '../home/index.ts'
import { revocationFile } from '../pki/index.ts'
import { planCluster } from './plan-cluster.ts'
import { ensurePasswords } from './prepare-home.ts'
import { unreadRevocations } from './revocation-readers.ts'
import { writeConfiguration } from './write-configuration.ts'

const home = openHome(temporaryFolder({ after }))
const list = revocationFile(home.pki)

/** The messages for a home that was started with these options. */
function messagesOf(written: WrittenOptions): string[] {
  const planned = planCluster(parseOptions(written), { home, dataFolder: '/data' })
  ensurePasswords(home, planned, undefined)
  writeConfiguration(home, planned)
  return unreadRevocations(home)
}

const strict = ['svc.server.https.requireClientCertificate=true', 'svc.server.https.trustStorePath=/t']

const cases: { name: string; given: WrittenOptions; expect: RegExp[] }[] = [
  { name: 'by default, every server uses the revocation list of the home', given: {}, expect: [] },
  {
    name: 'with a configured trust store, no server uses it',
    given: { set: ['svc.client.https.trustStorePath=/mine'] },
    expect: [
      /^Outgoing calls from \[broker, .*router\] do not check this revocation list\. Start .* --set svc.client.https.crlPath=\//,
    ],
  },
  {
    name: 'servers that require client certificates need a list of their own',
    given: { set: strict },
    expect: [
      /^TLS ports of \[.*historical-1.*\] do not check this revocation list\. .* --set svc.server.https.crlPath=\//,
    ],
  },
  {
    name: 'servers that require client certificates can use the list of the home',
    given: { set: [...strict, `svc.server.https.crlPath=${list}`] },
    expect: [],
  },
]

for (const { name, given, expect } of cases) {
  test(name, () => {
    const messages = messagesOf(given)
    assert.equal(messages.length, expect.length, messages.join('\n'))
    expect.forEach((pattern, index) => void assert.match(messages[index] ?? '', pattern))
  })
}
