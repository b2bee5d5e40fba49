// Proves that what ./svc backup writes of a working cluster becomes a cluster again, with its segments, rules and logins,
// that a damaged or torn backup becomes nothing, and that ./svc export reads the same cluster.
import assert from 'node:assert/strict'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { after, before, describe, test } from 'node:test'
import { pickPortOffset, startCluster } from '@svc/cli/cluster'
import { flightsTask, runTask } from './support/flights.ts'
import { createHttpClient } from './support/http-client.ts'
import { runSvc } from './support/svc-command.ts'
import { startTestCluster, type TestCluster } from './support/test-cluster.ts'
import { newTestFolder, removeTestFolder } from './support/test-folder.ts'
import { waitUntil } from './support/wait-until.ts'

const folder = newTestFolder()
after(() => removeTestFolder(folder))
const backup = path.join(folder, 'backup')
const rules = [{ type: 'loadForever', tieredReplicants: { _default_tier: 1 }, useDefaultTierForNull: true }]

describe('a backup', () => {
  let cluster: TestCluster
  before(async () => {
    cluster = await startTestCluster({ profile: 'secure' })
    await runTask(cluster.router, flightsTask())
    await cluster.router.post('/svc/coordinator/v1/rules/flights', rules)
  })
  after(() => cluster.end())

  test('is written while the cluster works, for its owner only', async () => {
    const { status, stdout, stderr } = await runSvc('backup', backup, '--home', cluster.home.root, '--json')
    assert.equal(status, 0, stderr)
    const told = JSON.parse(stdout) as { files: number; folder: string }
    assert.equal(told.files, 90)
    assert.equal(statSync(backup).mode & 0o777, 0o700)
  })

  test('is not written over something else', async () => {
    const { status, stderr } = await runSvc('backup', backup, '--home', cluster.home.root)
    assert.equal(status, 1)
    assert.match(stderr, /exists already/)
  })

  test('becomes a cluster with the same segments, rules and logins', async () => {
    const home = path.join(folder, 'restored')
    const { status, stderr } = await runSvc('restore', backup, '--home', home)
    assert.equal(status, 0, stderr)
    const restored = await startCluster({ home, portOffset: await pickPortOffset(), profile: 'secure' })
    try {
      assert.equal(restored.adminPassword, cluster.adminPassword)
      const router = createHttpClient(restored.routerUrl, {
        trusted: restored.trusted,
        credentials: `admin:${cluster.adminPassword}`,
      })
      try {
        assert.deepEqual(await router.get('/svc/coordinator/v1/rules/flights'), rules)
        await waitUntil(
          'all is loaded from the restored deep storage',
          () => router.get<Record<string, number>>('/svc/coordinator/v1/loadstatus'),
          (status) => status.flights === 100,
        )
      } finally {
        await router.close()
      }
    } finally {
      await restored.stop()
    }
  })

  test('that is damaged or torn becomes nothing', async () => {
    const home = path.join(folder, 'none')
    const table = path.join(backup, 'tables', 'segments.copy.gz')
    const sound = readFileSync(table)
    writeFileSync(table, sound.subarray(0, sound.length - 9))
    const damaged = await runSvc('restore', backup, '--home', home)
    writeFileSync(table, sound)
    assert.equal(damaged.status, 1)
    assert.match(damaged.stderr, /Table \[segments\] of the backup is damaged/)
    const torn = await runSvc('restore', folder, '--home', home)
    assert.equal(torn.status, 2)
    assert.match(torn.stderr, /is no backup/)
    assert.equal(existsSync(home), false)
  })

  test('and an export of the same cluster name the same segments', async () => {
    const exported = path.join(folder, 'exported')
    const { status, stdout, stderr } = await runSvc('export', exported, '--home', cluster.home.root, '--json')
    assert.equal(status, 0, stderr)
    assert.equal((JSON.parse(stdout) as { segments: number }).segments, 90)
    assert.deepEqual(JSON.parse(readFileSync(path.join(exported, 'rules.json'), 'utf8')).flights, rules)
  })
})
