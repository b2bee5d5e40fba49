import assert from 'node:assert/strict'
import { copyFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { recordingLogger, temporaryFolder, testSettings, waitUntil } from '../testing/index.ts'
import { followStores, leafOf, loadTlsStores } from './index.ts'

const fixtures = fileURLToPath(new URL('../../../../test/fixtures/stores/', import.meta.url))

/** Follows a server's stores in a temporary folder. */
async function follow(scope: TestContext, first: string) {
  const file = path.join(temporaryFolder(scope), 'store.jks')
  copyFileSync(`${fixtures}${first}`, file)
  const settings = testSettings('router', {
    'svc.enableTlsPort': 'true',
    'svc.server.https.keyStorePath': file,
    'svc.server.https.keyStorePassword': 'changeit',
    'svc.client.https.trustStoreType': 'pem',
    'svc.client.https.trustStorePath': `${fixtures}authority.pem`,
  })
  const loaded = await loadTlsStores(settings, Date.now())
  assert.equal(loaded.kind, 'loaded')
  const logger = recordingLogger()
  const problems: (string | undefined)[] = []
  let changes = 0
  const stores = followStores(settings, loaded.stores, logger, (text) => problems.push(text))
  scope.after(() => stores.stop())
  stores.onChange(() => {
    changes += 1
  })
  const subject = () => {
    const { server } = stores.current()
    return server && leafOf(server.identity)?.publicKey.asymmetricKeyType
  }
  return { file, stores, logger, problems, subject, changes: () => changes }
}

describe('a store whose file changes', () => {
  it('is reloaded', async (scope) => {
    const followed = await follow(scope, 'rsa.jks')
    assert.equal(followed.subject(), 'rsa')
    copyFileSync(`${fixtures}ec.jks`, followed.file)
    await waitUntil('the new store is used', () => followed.subject() === 'ec')
    assert.equal(followed.changes(), 1)
    assert.equal(followed.problems.at(-1), undefined)
  })

  it('stays in use if the new file is invalid, with one warning until the file is fixed', async (scope) => {
    const followed = await follow(scope, 'rsa.jks')
    writeFileSync(followed.file, 'half a fi')
    const problem = await waitUntil('the problem is reported', () => followed.problems.at(-1))
    assert.ok(
      problem?.startsWith(`The key store [${followed.file}] from [svc.server.https.keyStorePath] cannot be`),
    )
    const count = followed.problems.length
    await waitUntil('it is checked again', () => followed.problems.length > count)
    assert.equal(followed.problems.at(-1), problem)
    assert.equal(followed.logger.having(problem ?? assert.fail()).length, 1)
    assert.equal(followed.subject(), 'rsa')
    copyFileSync(`${fixtures}ec.jks`, followed.file)
    await waitUntil('the fixed store is used', () => followed.subject() === 'ec')
    await waitUntil('the problem is gone', () => followed.problems.at(-1) === undefined)
  })
})
