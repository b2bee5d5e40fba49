// `./svc backup` of a working cluster restores to a cluster with its segments, rules and logins. A damaged or
// incomplete backup and an interrupted restore leave nothing behind, and `./svc export` reads the same cluster.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cpSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { after, before, describe, test } from 'node:test'
import { pickPortOffset, startCluster } from '@svc/cli/cluster'
import { createHttpClient, waitUntil } from '@svc/shared/testing'
import { flightsTask, runTask } from './support/flights.ts'
import { runSvc, svcCommand } from './support/svc-command.ts'
import { startTestCluster, type TestCluster } from './support/test-cluster.ts'
import { newTestFolder, removeTestFolder } from './support/test-folder.ts'

const folder = newTestFolder()
after(() => removeTestFolder(folder))
const backup = path.join(folder, 'backup')
const rules = [{ type: 'loadForever', tieredReplicants: { _default_tier: 1 }, useDefaultTierForNull: true }]

/** The paths of the segment files in a folder, relative to it. */
const segmentFilesIn = (where: string): string[] =>
  readdirSync(where, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.parquet'))

/** Flips one bit of a file; returns a function that restores it. */
function damage(file: string): () => void {
  const sound = readFileSync(file)
  const changed = Buffer.from(sound)
  changed[9] = changed[9]! ^ 1
  writeFileSync(file, changed)
  return () => writeFileSync(file, sound)
}

interface Manifest {
  readonly homeFiles: readonly {
    readonly path: string
    readonly sizeBytes: number
    readonly sha256: string | null
  }[]
}

/** Changes the metadata of a backup. */
function writeManifest(where: string, change: (manifest: Manifest) => object): void {
  const file = path.join(where, 'backup.json')
  writeFileSync(file, JSON.stringify(change(JSON.parse(readFileSync(file, 'utf8')) as Manifest)))
}

/** Returns everything that exists of the home `none`, under its name or next to it. */
const leftOfNone = (): string[] => readdirSync(folder).filter((name) => name.startsWith('none'))

/** Starts a restore to `none` and sends a signal once the first segment file is there. */
async function endRestore(signal: NodeJS.Signals) {
  const child = execFile(svcCommand, ['restore', backup, '--home', path.join(folder, 'none')])
  const progress: string[] = []
  child.stderr?.on('data', (text: string) => progress.push(text))
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  let postgresPid = 0
  await waitUntil(
    'Postgres is running and files are being copied',
    () => {
      const home = path.join(folder, leftOfNone()[0]!)
      postgresPid = Number.parseInt(readFileSync(path.join(home, 'postgres/postmaster.pid'), 'utf8'), 10)
      return segmentFilesIn(path.join(home, 'deep-storage')).length
    },
    (files) => files > 0,
    { pollMs: 2 },
  )
  child.kill(signal)
  return { status: await ended, stderr: progress.join(''), postgresPid }
}

function isInProcessList(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

describe('a backup', () => {
  let cluster: TestCluster
  before(async () => {
    cluster = await startTestCluster({ profile: 'secure', hasRealPasswords: true })
    await runTask(cluster.router, flightsTask())
    await cluster.router.post('/svc/coordinator/v1/rules/flights', rules)
  })
  after(() => cluster.end())

  test('is written while the cluster works, readable by its owner only', async () => {
    const { status, stdout, stderr } = await runSvc('backup', backup, '--home', cluster.home.root, '--json')
    assert.equal(status, 0, stderr)
    const progress = JSON.parse(stdout) as { files: number; folder: string }
    assert.equal(progress.files, 90)
    assert.equal(statSync(backup).mode & 0o777, 0o700)
  })

  test('does not overwrite anything', async () => {
    const { status, stderr } = await runSvc('backup', backup, '--home', cluster.home.root)
    assert.equal(status, 2)
    assert.match(stderr, /already exists/)
  })

  test('restores to a cluster with the same segments, rules and logins', async () => {
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
          'everything is loaded from the restored deep storage',
          () => router.get<Record<string, number>>('/svc/coordinator/v1/loadstatus'),
          (status) => status.flights === 100,
        )
      } finally {
        router.close()
      }
    } finally {
      await restored.stop()
    }
  })

  test('restores nothing if it is damaged or incomplete', async () => {
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
    assert.match(torn.stderr, /is not a complete backup/)
    assert.deepEqual(leftOfNone(), [])
  })

  /** Restores to `none` after changing a copy of a backup. */
  async function restoreChanged(from: string, change: (changed: string) => void) {
    const changed = path.join(folder, 'changed')
    cpSync(from, changed, { recursive: true })
    try {
      change(changed)
      return await runSvc('restore', changed, '--home', path.join(folder, 'none'))
    } finally {
      rmSync(changed, { recursive: true })
    }
  }

  test('restores nothing if a secret is missing or empty', async () => {
    const without = await restoreChanged(backup, (changed) =>
      rmSync(path.join(changed, 'secrets'), { recursive: true }),
    )
    assert.equal(without.status, 1)
    assert.match(
      without.stderr,
      /damaged: \[secrets\/admin-password\] is missing, \[secrets\/internal-client-password\] is missing/,
    )
    const empty = await restoreChanged(backup, (changed) =>
      writeFileSync(path.join(changed, 'secrets/admin-password'), ''),
    )
    assert.equal(empty.status, 1)
    assert.match(empty.stderr, /damaged: \[secrets\/admin-password\] is \[0\] bytes long: expected \[\d+\]/)
    assert.deepEqual(leftOfNone(), [])
  })

  test('of an imported home restores to a home with its virtual servers, and restores nothing without them', async () => {
    const imported = path.join(folder, 'imported')
    const servers = '[{"name":"a:1","size":1}]\n'
    // Running servers do not read it.
    writeFileSync(cluster.home.virtualServers, servers)
    const written = await runSvc('backup', imported, '--home', cluster.home.root)
    rmSync(cluster.home.virtualServers)
    assert.equal(written.status, 0, written.stderr)
    const lost = await restoreChanged(imported, (changed) =>
      rmSync(path.join(changed, 'virtual-servers.json')),
    )
    assert.equal(lost.status, 1)
    assert.match(lost.stderr, /damaged: \[virtual-servers\.json\] is missing/)
    const corrupted = await restoreChanged(imported, (changed) =>
      damage(path.join(changed, 'virtual-servers.json')),
    )
    assert.equal(corrupted.status, 1)
    assert.match(corrupted.stderr, /damaged: \[virtual-servers\.json\] has a different checksum/)
    assert.deepEqual(leftOfNone(), [])
    const full = await restoreChanged(imported, () => undefined)
    assert.equal(full.status, 0, full.stderr)
    const none = path.join(folder, 'none')
    assert.equal(readFileSync(path.join(none, 'virtual-servers.json'), 'utf8'), servers)
    rmSync(none, { recursive: true })
    rmSync(imported, { recursive: true })
  })

  test('contains nothing that would help to guess its passwords', () => {
    const { homeFiles } = JSON.parse(readFileSync(path.join(backup, 'backup.json'), 'utf8')) as Manifest
    assert.deepEqual(
      homeFiles.map(({ path: file, sha256 }) => [file, sha256]),
      [
        ['secrets/admin-password', null],
        ['secrets/internal-client-password', null],
      ],
    )
  })

  test('of the earlier format is restored with a notice', async () => {
    const { status, stderr } = await restoreChanged(backup, (changed) => {
      writeManifest(changed, ({ homeFiles: _, ...manifest }) => ({ ...manifest, format: 1 }))
      rmSync(path.join(changed, 'secrets/internal-client-password'))
    })
    assert.equal(status, 0, stderr)
    assert.match(
      stderr,
      /Notice: The backup uses an older format.*; found and restored \[secrets\/admin-password\] without verifying/,
    )
    const none = path.join(folder, 'none')
    assert.equal(readFileSync(path.join(none, 'secrets/admin-password'), 'utf8'), cluster.adminPassword)
    rmSync(none, { recursive: true })
  })

  test('restores nothing if its deep storage is damaged', async () => {
    const storage = path.join(backup, 'deep-storage')
    const [changed, missing] = segmentFilesIn(storage) as [string, string]
    const repair = damage(path.join(storage, changed))
    const missingFile = path.join(storage, missing)
    renameSync(missingFile, path.join(folder, 'aside'))
    const damaged = await runSvc('restore', backup, '--home', path.join(folder, 'none'))
    repair()
    renameSync(path.join(folder, 'aside'), missingFile)
    assert.equal(damaged.status, 1)
    assert.match(
      damaged.stderr,
      /damaged: in its deep storage, \[2\] of \[90\] files are missing or have changed/,
    )
    assert.ok(damaged.stderr.includes(`[${changed}] has a different checksum`), damaged.stderr)
    assert.ok(damaged.stderr.includes(`[${missing}] is missing`), damaged.stderr)
    renameSync(storage, path.join(folder, 'aside'))
    const without = await runSvc('restore', backup, '--home', path.join(folder, 'none'))
    renameSync(path.join(folder, 'aside'), storage)
    assert.equal(without.status, 1)
    assert.match(without.stderr, /\[90\] of \[90\] files .* \((\[\S+\] is missing, ){3}…\)/)
    assert.deepEqual(leftOfNone(), [])
  })

  test('restores nothing and stops its Postgres on Ctrl-C', async () => {
    const { status, stderr, postgresPid } = await endRestore('SIGINT')
    assert.equal(status, 130)
    assert.match(stderr, /Interrupted by SIGINT/)
    assert.deepEqual(leftOfNone(), [])
    assert.throws(() => process.kill(postgresPid, 0), { code: 'ESRCH' })
  })

  test('leaves no home of that name if the restore is killed, and the next restore cleans up', async () => {
    const { postgresPid } = await endRestore('SIGKILL')
    const [left] = leftOfNone()
    assert.match(left ?? '', /^none\.partial-/)
    assert.equal(leftOfNone().length, 1)
    const again = await runSvc('restore', backup, '--home', path.join(folder, 'none'))
    assert.equal(again.status, 0, again.stderr)
    assert.ok(again.stderr.includes(`Removed [${path.join(folder, left!)}]`), again.stderr)
    // Its parent was killed, so another process removes it from the list of processes after its end.
    await waitUntil(
      'Postgres has ended',
      () => isInProcessList(postgresPid),
      (isListed) => !isListed,
    )
    assert.deepEqual(leftOfNone(), ['none'])
    rmSync(path.join(folder, 'none'), { recursive: true })
  })

  test('refuses deep storage with a file that differs from what was stored', async () => {
    const storage = cluster.home.deepStorage
    const changed = segmentFilesIn(storage)[0]!
    const repair = damage(path.join(storage, changed))
    const { status, stderr } = await runSvc('backup', path.join(folder, 'none'), '--home', cluster.home.root)
    repair()
    assert.equal(status, 1)
    assert.match(stderr, /is damaged: \[1\] of \[90\] files/)
    assert.ok(stderr.includes(`[${changed}] has a different checksum`), stderr)
    assert.deepEqual(leftOfNone(), [])
  })

  test('names the same segments as an export of the same cluster', async () => {
    const exported = path.join(folder, 'exported')
    const { status, stdout, stderr } = await runSvc('export', exported, '--home', cluster.home.root, '--json')
    assert.equal(status, 0, stderr)
    assert.equal((JSON.parse(stdout) as { segments: number }).segments, 90)
    assert.deepEqual(JSON.parse(readFileSync(path.join(exported, 'rules.json'), 'utf8')).flights, rules)
  })
})
