import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { after, describe, it } from 'node:test'
import { canMountSmallDisk, doorOf, runOnSmallDisk, temporaryFolder } from '../../testing/index.ts'

const folder = temporaryFolder({ after })
const disk = path.join(folder, 'disk')
mkdirSync(disk)
const skip = canMountSmallDisk(disk) ? false : 'this system cannot mount a disk for a test'

/** Returns a script that rewrites a segment of random rows, with these folders, and prints the outcome. */
const rewriteScript = (storage: string, work: string, rows: number): string => `
  import { createHash } from 'node:crypto'
  import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
  import { parseCompactionConfig } from '@svc/domain/compaction'
  import { createLocalDeepStorage } from '${doorOf('deep-storage')}'
  import { openEngine } from '${doorOf('ingestion')}'
  import { rewriteSegments } from '${doorOf('compaction/rewriting')}'
  mkdirSync('${storage}', { recursive: true })
  const engine = await openEngine({
    directories: ['${storage}'], files: [], spillDirectory: '${folder}/spill', memoryLimitBytes: 2 ** 28, threads: 1,
  })
  await engine.run(\`COPY (
    SELECT TIMESTAMP_MS '2026-01-01' + to_seconds(n::INTEGER) AS __time, uuid()::VARCHAR AS who FROM range(${rows}) r(n)
  ) TO '${storage}/a.parquet' (FORMAT parquet, COMPRESSION uncompressed)\`)
  engine.close()
  const bytes = readFileSync('${storage}/a.parquet')
  const checksum = 'sha256:' + createHash('sha256').update(bytes).digest('hex')
  const source = {
    id: 'a', loadSpec: { type: 'local', path: 'a.parquet', checksum }, sizeBytes: bytes.length, totalRows: ${rows},
    dimensions: 'who', metrics: '',
  }
  const interval = { start: Date.UTC(2026, 0, 1), end: Date.UTC(2026, 1, 1) }
  const outcome = await rewriteSegments(
    {
      config: parseCompactionConfig({ dataSource: 'wiki' }),
      sources: [source],
      buckets: [{ interval, rewritten: [{ id: 'a', times: undefined }], kept: [] }],
    },
    {
      deepStorage: createLocalDeepStorage({ rootDirectory: '${storage}' }), workDirectory: '${work}', pathPrefix: 'x',
      memoryLimitBytes: 2 ** 28, threads: 1,
    },
  ).then(() => ({ code: 'none' }), ({ code, message }) => ({ code, message }))
  const files = readdirSync('${storage}', { recursive: true, withFileTypes: true })
  console.log(JSON.stringify({
    ...outcome,
    stored: files.filter((file) => file.isFile()).map(({ name }) => name),
    work: readdirSync('${work}'),
  }))`

describe('a disk that fills up during a rewrite', () => {
  for (const [what, storage, work, rows] of [
    ['while working files are fetched', path.join(folder, 'storage'), path.join(disk, 'work'), 40_000],
    ['while working files are written', path.join(folder, 'storage'), path.join(disk, 'work'), 18_000],
    [
      'while segments are pushed to deep storage',
      path.join(disk, 'storage'),
      path.join(folder, 'work'),
      18_000,
    ],
  ] as const) {
    it(`${what} is reported, and nothing is left behind`, { skip }, async () => {
      const failure = (await runOnSmallDisk(disk, rewriteScript(storage, work, rows))) as Record<
        string,
        unknown
      >
      assert.equal(failure.code, 'unavailable', JSON.stringify(failure))
      assert.match(String(failure.message), /[Nn]o space/)
      assert.deepEqual([failure.stored, failure.work], [['a.parquet'], []])
    })
  }
})
