import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { temporaryFolder } from '@svc/shared/testing'
import { openHome } from '../home/index.ts'
import { revocationFile } from '../pki/index.ts'
import { parseOptions, type WrittenOptions } from './options.ts'
import { planCluster } from './plan-cluster.ts'
import { ensurePasswords } from './prepare-home.ts'
import { unreadRevocations } from './revocation-readers.ts'
import { writeConfiguration } from './write-configuration.ts'

const home = openHome(temporaryFolder({ after }))
const list = revocationFile(home.pki)

/** What is said of a home that was started with these options. */
function saidOf(written: WrittenOptions): string[] {
  const planned = planCluster(parseOptions(written), { home, dataFolder: '/data' })
  ensurePasswords(home, planned, undefined)
  writeConfiguration(home, planned)
  return unreadRevocations(home)
}

const strict = ['svc.server.https.requireClientCertificate=true', 'svc.server.https.trustStorePath=/t']

const cases: { name: string; given: WrittenOptions; expect: RegExp[] }[] = [
  { name: 'every server reads the list of a home', given: {}, expect: [] },
  {
    name: 'with stores from elsewhere nobody does, which is said',
    given: { set: ['svc.client.https.trustStorePath=/mine'] },
    expect: [
      /^The calls of \[broker, .*router\] do not read this list: start with .* --set svc.client.https.crlPath=\//,
    ],
  },
  {
    name: 'servers that ask for certificates of clients take a list of their own',
    given: { set: strict },
    expect: [
      /^The ports of \[.*historical-1.*\] do not read this list: .* --set svc.server.https.crlPath=\//,
    ],
  },
  {
    name: 'and may be given that of the home',
    given: { set: [...strict, `svc.server.https.crlPath=${list}`] },
    expect: [],
  },
]

for (const { name, given, expect } of cases) {
  test(name, () => {
    const said = saidOf(given)
    assert.equal(said.length, expect.length, said.join('\n'))
    expect.forEach((pattern, index) => void assert.match(said[index] ?? '', pattern))
  })
}
