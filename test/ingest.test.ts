// `./svc ingest` on a complete cluster reports the result for a file in the user's terms.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { after, test } from 'node:test'
import { runSvc } from './support/svc-command.ts'
import { startTestCluster } from './support/test-cluster.ts'
import { newTestFolder, removeTestFolder } from './support/test-folder.ts'

const folder = newTestFolder()
after(() => removeTestFolder(folder))
const cluster = await startTestCluster({ profile: 'plain', historicals: '_default_tier=1' })
after(() => cluster.end())

const ingest = (name: string, text: string, ...more: string[]) => {
  const file = path.join(folder, name)
  writeFileSync(file, text)
  const to = ['--datasource', 'o1', '--timestamp', 't', '--home', cluster.home.root]
  return runSvc('ingest', file, ...to, ...more).then((result) => ({ file, ...result }))
}

for (const { name, text } of [
  { name: 'empty.csv', text: '' },
  { name: 'header.csv', text: 't,n\n' },
  { name: 'empty.json', text: '' },
]) {
  test(`reports a file without rows: ${name}`, async () => {
    const { file, status, stderr } = await ingest(name, text)
    assert.deepEqual(
      [status, stderr],
      [2, `svc: File [${file}] has no rows. Nothing was ingested into [o1].\n`],
    )
  })
}

test('reports a column that no row has, and ingests the rows', async () => {
  const { file, status, stdout, stderr } = await ingest(
    'a.json',
    '{"t":"2026-01-01","n":1}',
    '--dimensions',
    'n,zz',
  )
  assert.deepEqual([status, stderr], [0, `Warning: Column [zz] is not in any row of file [${file}]\n`])
  assert.match(stdout, /Ingested 1 row into \[o1\] in .* \(1 row read, 1 segment\)\.\n$/)
})

test('reports a missing timestamp column with its option', async () => {
  const { status, stderr } = await ingest('no-time.csv', 'a,b\n1,2\n')
  assert.equal(status, 2)
  assert.match(
    stderr,
    /failed: Invalid value \[t\] for \[--timestamp\]: expected one of the input columns \[a, b\]\. To show its log, run /,
  )
})

test('reports an invalid row with the file name that the user gave, and prints its log with the suggested command', async () => {
  const { file, status, stderr } = await ingest('bad-time.csv', 't,n\n2026-01-01,1\nnever,2\n')
  assert.equal(status, 2)
  assert.ok(
    stderr.includes(
      `failed: Invalid value [never] for timestamp column [t] (--timestamp) in row [2] of file [${file}]: expected format [auto] (--timestamp-format). To show its log, run `,
    ),
    stderr,
  )
  const [, args = ''] = /To show its log, run \.\/svc (.*)\n$/.exec(stderr) ?? []
  const log = await runSvc(...args.split(' '))
  assert.equal(log.status, 0, log.stderr)
  assert.match(
    log.stdout,
    /^\S+ INFO {2}Task started \{"task":"[^"\\]+","attempt":1\}\n\S+ ERROR Task failed .*never.*\n$/,
  )
  const unknown = await runSvc('logs', '--task', 'unknown', '--home', cluster.home.root)
  assert.deepEqual([unknown.status, /Task \[unknown\] does not exist/.test(unknown.stderr)], [2, true])
})
