// A server with a wrong certificate or trust store is reported within ten seconds in its own log, in the
// coordinator's log, and by `./svc status`. It is not announced in the meantime, the other servers keep working,
// and it recovers by itself once the file is corrected.

import assert from 'node:assert/strict'
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { after, before, describe, test } from 'node:test'
import { runtimePropertiesFile } from '@svc/cli/cluster'
import { readSecret } from '@svc/cli/home'
import { keyStoreFile, pkiTools, revocationFile, trustStoreFile } from '@svc/cli/pki'
import { loadNodes } from '@svc/shared/postgres'
import { waitUntil } from '@svc/shared/testing'
import { type LogEntry, logEntries } from './support/log-entries.ts'
import { runSvc } from './support/svc-command.ts'
import { startTestCluster } from './support/test-cluster.ts'

const faulty = 'historical-hot-1'
const sound = 'historical-1'
const noticeMs = 10_000

const cluster = await startTestCluster({ profile: 'secure', historicals: 'hot=1,_default_tier=1' })
after(() => cluster.end())
const tools = await pkiTools()
const { pki: folder } = cluster.home
const password = readSecret(cluster.home, 'key-store-password') ?? assert.fail()
const pki = { folder, password, now: Date.now() }
const faultyName = cluster.nameOf(faulty)
const propertiesFile = runtimePropertiesFile(cluster.home, faulty)
const rightProperties = readFileSync(propertiesFile, 'utf8')
const keyStore = keyStoreFile(folder, faulty)
const rightKeyStore = `${keyStore}.right`
const list = revocationFile(folder)
const own = (name: string) => path.join(folder, 'own', name)

before(async () => {
  mkdirSync(own(''))
  await tools.initAuthority(pki)
  copyFileSync(keyStore, rightKeyStore)
  copyFileSync(list, own('nothing-revoked.pem'))
  // Another authority, and a certificate from it for the same hosts.
  const other = { ...pki, folder: path.join(folder, 'other') }
  mkdirSync(other.folder)
  await tools.initAuthority(other)
  const content = { hosts: ['localhost', '127.0.0.1'], types: ['pem'] as const, days: 30 }
  await tools.issueStores(other, faulty, content)
})

/** Like a user: the servers of a home read its list without a notification. */
async function revoke(): Promise<void> {
  const { stdout, status } = await runSvc('pki', 'revoke', faulty, '--home', cluster.home.root)
  assert.equal(status, 0)
  assert.equal(stdout, `Wrote ${list}\n`)
}

const revokeNothing = () => copyFileSync(own('nothing-revoked.pem'), list)

interface Fault {
  readonly name: string
  /** Additional properties of the server. */
  readonly properties?: readonly string[]
  breakFile(): Promise<void> | void
  correct(): Promise<void> | void
  /** What its own log, the coordinator's log, and the status must contain. */
  readonly named: RegExp
  /** The process exits at startup and the supervisor restarts it. */
  readonly ends?: boolean
  /** The fault happens while the server is ready and known. */
  readonly runs?: boolean
  /** Why the coordinator rejects the certificate that the server presents. */
  readonly rejectedAs?: string
}

const faults: readonly Fault[] = [
  {
    name: 'a trust store without the authority of the cluster',
    properties: [`svc.client.https.trustStorePath=${own('trust.pem')}`],
    breakFile: () => copyFileSync(path.join(folder, 'other', 'authority.pem'), own('trust.pem')),
    correct: () => copyFileSync(trustStoreFile(folder), own('trust.pem')),
    named: /SELF_SIGNED_CERT_IN_CHAIN.*\[svc\.client\.https\.trustStorePath\]/,
  },
  {
    name: 'a certificate of another authority',
    breakFile: () => copyFileSync(keyStoreFile(path.join(folder, 'other'), faulty), keyStore),
    correct: () => copyFileSync(rightKeyStore, keyStore),
    named: /\[svc\.server\.https\.keyStorePath\].*(SELF_SIGNED_CERT_IN_CHAIN|CRL_SIGNATURE_FAILURE)/,
  },
  {
    name: 'a revoked certificate',
    breakFile: revoke,
    correct: revokeNothing,
    named: /CERT_REVOKED.*\[svc\.client\.https\.crlPath\]/,
  },
  {
    name: 'a certificate that expires while the server runs',
    breakFile: async () => {
      // The server uses it only if it reads the file while the certificate is valid, even on a slow machine.
      const content = { hosts: ['localhost', '127.0.0.1'], types: ['pem'] as const, days: 8 / 86_400 }
      await tools.issueStores({ ...pki, now: Date.now() }, faulty, content)
    },
    correct: () => copyFileSync(rightKeyStore, keyStore),
    named: /\[svc\.server\.https\.keyStorePath\] contains a certificate that expired on/,
    runs: true,
    rejectedAs: 'CERT_HAS_EXPIRED',
  },
  {
    name: 'a certificate that is revoked while the server runs',
    breakFile: revoke,
    correct: revokeNothing,
    named: /CERT_REVOKED.*\[svc\.client\.https\.crlPath\]/,
    runs: true,
    rejectedAs: 'CERT_REVOKED',
  },
  {
    name: 'a certificate of another authority in place of the one of a running server',
    breakFile: () => copyFileSync(keyStoreFile(path.join(folder, 'other'), faulty), keyStore),
    correct: () => copyFileSync(rightKeyStore, keyStore),
    named: /\[svc\.server\.https\.keyStorePath\].*(SELF_SIGNED_CERT_IN_CHAIN|CRL_SIGNATURE_FAILURE)/,
    runs: true,
  },
  {
    name: 'a key store that is overwritten while the server runs',
    breakFile: () => writeFileSync(keyStore, 'not a certificate'),
    correct: () => copyFileSync(rightKeyStore, keyStore),
    named: /\[svc\.server\.https\.keyStorePath\] contains no private key/,
    runs: true,
  },
  {
    name: 'a certificate that has expired',
    breakFile: async () => void (await tools.expireStores(pki, faulty)),
    correct: () => copyFileSync(rightKeyStore, keyStore),
    named: /\[svc\.server\.https\.keyStorePath\] contains a certificate that expired on/,
    ends: true,
  },
  {
    name: 'a key store with another password',
    properties: ['svc.server.https.keyStorePassword={"type":"file","path":"PASSWORD"}'],
    breakFile: () => writeFileSync(own('password'), 'wrong password'),
    correct: () => writeFileSync(own('password'), password),
    named: /private key that cannot be decrypted; check \[svc\.server\.https\.keyStorePassword\]/,
    ends: true,
  },
]

const servers = () => loadNodes(cluster.store, 5000)
const isAnnounced = async (name: string) => (await servers()).some((node) => node.name === name)

interface Certificates {
  readonly servers: readonly {
    readonly server: string
    readonly certificate: { readonly subject: string } | null
    readonly problem: string | null
  }[]
  readonly authorities: readonly { readonly subject: string }[]
}
const certificates = () => cluster.router.get<Certificates>('/svc/coordinator/v1/certificates')

for (const fault of faults) {
  const { name, properties = [], breakFile, correct, named, ends = false, runs = false } = fault
  describe(name, () => {
    let startedAt = 0
    let namedAt = 0
    const logEntriesSince = (instance: string): LogEntry[] =>
      logEntries(cluster, instance).filter(({ timestamp }) => Date.parse(timestamp) >= startedAt)
    const newEntries = (instance: string): LogEntry[] =>
      logEntriesSince(instance).filter(({ message }) => named.test(message))
    let logged = 0

    before(async () => {
      const lines = properties.map((line) => `${line.replace('PASSWORD', own('password'))}\n`)
      const wanted = `${rightProperties}${lines.join('')}`
      // A running server notices faults without a restart if its properties do not change.
      const isNew = !runs || readFileSync(propertiesFile, 'utf8') !== wanted
      if (isNew) await cluster.stopInstance(faulty)
      writeFileSync(propertiesFile, wanted)
      if (runs && isNew) {
        cluster.startInstance(faulty)
        await cluster.waitUntilReady(faulty)
      }
      logged = cluster.logOf(faulty).length
      startedAt = Date.now()
      await breakFile()
      if (!runs) cluster.startInstance(faulty)
    })

    test('is reported in its own log', async () => {
      await waitUntil(
        'its log names the cause',
        () => cluster.logOf(faulty).slice(logged),
        (log) => named.test(log),
      )
      namedAt = Date.now()
    })

    test("is reported in the coordinator's log within ten seconds, with the server", async () => {
      const entries = await waitUntil(
        "the coordinator's log names the cause",
        () => newEntries('coordinator'),
        (found) => found.length > 0,
      )
      const { message, timestamp } = entries[0] ?? assert.fail()
      assert.ok(message.includes(`Server [historical ${faultyName}]`), message)
      // The start time of a process depends on the machine, so it does not count.
      const tookMs = Date.parse(timestamp) - namedAt
      assert.ok(tookMs < noticeMs, `it took ${tookMs} ms`)
    })

    test('is shown by ./svc status', async () => {
      const { stdout } = await waitUntil(
        'the status shows the cause',
        () => runSvc('status', '--home', cluster.home.root),
        ({ stdout: shown }) =>
          shown.split('\n').some((line) => line.startsWith('historical') && named.test(line)),
      )
      const others = stdout
        .split('\n')
        .filter(
          (line) => !line.includes(faulty) && !line.includes(faultyName) && / ready|not ready/.test(line),
        )
      assert.ok(others.length >= 7 && others.every((line) => !line.includes('not ready')), stdout)
    })

    test('does not flood the log, and the server is not announced', async () => {
      if (runs)
        await waitUntil(
          'the server is withdrawn',
          () => isAnnounced(faultyName),
          (announced) => !announced,
        )
      assert.equal(await isAnnounced(faultyName), false)
      assert.equal(await isAnnounced(cluster.nameOf(sound)), true)
      // Once at first, and then again after increasing delays of at least ten seconds.
      const maxLines = 2 + (Date.now() - startedAt) / 10_000
      assert.ok(newEntries('coordinator').length <= maxLines)
      if (!ends) assert.ok(newEntries(faulty).length <= 2 * maxLines)
    })

    const { rejectedAs } = fault
    if (rejectedAs !== undefined)
      test('is shown with the certificates of all servers', async () => {
        const problemsIn = ({ servers }: Certificates) =>
          servers.flatMap(({ server, problem }) => (problem === null ? [] : [`${server} ${problem}`]))
        // The answer is kept for some seconds.
        const found = await waitUntil(
          'only its certificate is rejected',
          certificates,
          (answer) => problemsIn(answer).join() === `${faultyName} ${rejectedAs}`,
        )
        assert.equal(found.servers.length, 6)
        assert.ok(found.servers.every(({ certificate }) => /^CN=/.test(certificate?.subject ?? '')))
        assert.equal(found.authorities.length, 1)
      })

    test('ends by itself when the file is corrected', async () => {
      await correct()
      await cluster.waitUntilReady(faulty)
      await waitUntil(
        'the server is announced',
        () => isAnnounced(faultyName),
        (announced) => announced,
      )
      await waitUntil(
        'the coordinator logs the recovery',
        () => logEntriesSince('coordinator'),
        (entries) =>
          entries.some(({ message }) => message === `Server [historical ${faultyName}] has recovered`),
      )
      assert.ok(existsSync(keyStore))
    })
  })
}
