import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { after, describe, it } from 'node:test'
import { parseCompactionConfig } from '@svc/domain/compaction'
import type { Failure } from '@svc/domain/failure'
import { bucketOf, type Granularity, type Interval } from '@svc/domain/time'
import { createLocalDeepStorage } from '../../deep-storage/index.ts'
import { openEngine, parseIndexSpec, runIndexTask, type WrittenSegment } from '../../ingestion/index.ts'
import { temporaryFolder } from '../../testing/index.ts'
import { type RewriteOrderBucket, type RewriteSource, rewriteSegments } from './index.ts'

const folder = temporaryFolder({ after })
const storageFolder = path.join(folder, 'storage')
const deepStorage = createLocalDeepStorage({ rootDirectory: storageFolder })
const access = { allowedRoots: [], allowedHosts: [] }
const httpLimits = {
  idleTimeoutMs: 10_000,
  timeoutMs: 10_000,
  minBytesPerSecond: 0,
  maxBytes: 1_000_000,
  maxDecompressedBytes: 1_000_000,
}
const common = { deepStorage, memoryLimitBytes: 256 * 2 ** 20, threads: 1 }
const engine = await openEngine({
  directories: [folder],
  files: [],
  spillDirectory: path.join(folder, 'spill'),
  memoryLimitBytes: 256 * 2 ** 20,
  threads: 1,
})
after(() => engine.close())

const day = (n: number, hour = 0) => Date.UTC(2026, 0, n, hour)
const month: Interval = { start: day(1), end: Date.UTC(2026, 1, 1) }
let runs = 0

interface Given {
  readonly rollup?: boolean
  readonly metrics?: readonly object[]
  readonly dimensions?: readonly unknown[]
  readonly granularity?: Granularity
}

/** Ingests rows of `t` and other columns. Returns the segments as sources. */
async function ingest(
  rows: readonly object[],
  given: Given = {},
): Promise<(RewriteSource & { interval: Interval })[]> {
  const spec = {
    type: 'index_parallel',
    spec: {
      dataSchema: {
        dataSource: 'koalas',
        timestampSpec: { column: 't' },
        dimensionsSpec: { dimensions: given.dimensions ?? ['who'] },
        metricsSpec: given.metrics ?? [{ type: 'longSum', name: 'n', fieldName: 'n' }],
        granularitySpec: { segmentGranularity: given.granularity ?? 'DAY', rollup: given.rollup ?? false },
      },
      ioConfig: {
        type: 'index_parallel',
        inputSource: { type: 'inline', data: rows.map((row) => JSON.stringify(row)).join('\n') },
        inputFormat: { type: 'json' },
      },
    },
  }
  runs += 1
  const { segments } = await runIndexTask(parseIndexSpec(spec, access), {
    ...common,
    access,
    httpLimits,
    workDirectory: path.join(folder, 'work'),
    pathPrefix: `ingest-${runs}`,
  })
  return segments.map((segment, index) => ({
    ...sourceOf(segment, `s${runs}-${index}`),
    interval: segment.interval,
  }))
}

const sourceOf = (written: WrittenSegment, id: string): RewriteSource => ({
  id,
  loadSpec: { type: 'local', path: written.path, checksum: written.checksum },
  sizeBytes: written.sizeBytes,
  totalRows: written.totalRows,
  dimensions: written.dimensions.join(','),
  metrics: written.metrics.join(','),
})

const allOf = (sources: readonly RewriteSource[], interval = month): RewriteOrderBucket => ({
  interval,
  rewritten: sources.map(({ id }) => ({ id, times: undefined })),
  kept: [],
})

async function rewrite(
  sources: readonly RewriteSource[],
  configured: object = {},
  buckets: readonly RewriteOrderBucket[] = [allOf(sources)],
) {
  runs += 1
  const config = parseCompactionConfig({ dataSource: 'koalas', ...configured })
  return await rewriteSegments(
    { config, sources, buckets },
    { ...common, workDirectory: path.join(folder, 'work'), pathPrefix: `rewrite-${runs}` },
  )
}

const rowsOf = async (segments: readonly WrittenSegment[], select = '*', rest = '') =>
  await engine.rows(
    `SELECT ${select} FROM read_parquet([${segments.map((one) => `'${path.join(storageFolder, one.path)}'`).join(', ')}]) ${rest}`,
  )

const storedFiles = () =>
  readdirSync(storageFolder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
    .length

const row = (n: number, who: string | null, amount: number) => ({ t: day(n, 12), who, n: amount })

describe('rewriting segments', () => {
  it('merges many segments into one, with the same rows sorted by time and dimensions', async () => {
    const sources = [
      ...(await ingest([row(2, 'b', 1), row(1, 'a', 2)])),
      ...(await ingest([row(1, 'c', 3), row(1, 'a', 4), row(3, null, 5)])),
    ]
    const result = await rewrite(sources, { granularitySpec: { segmentGranularity: 'MONTH' } })
    assert.deepEqual([result.rowsRead, result.rowsWritten, result.segments.length], [5, 5, 1])
    assert.deepEqual(result.segments[0]?.interval, month)
    assert.deepEqual(await rowsOf(result.segments, 'epoch_ms(__time) AS t, who, n'), [
      { t: String(day(1, 12)), who: 'a', n: '2' },
      { t: String(day(1, 12)), who: 'a', n: '4' },
      { t: String(day(1, 12)), who: 'c', n: '3' },
      { t: String(day(2, 12)), who: 'b', n: '1' },
      { t: String(day(3, 12)), who: null, n: '5' },
    ])
    assert.deepEqual(result.metrics, [{ type: 'longSum', name: 'n', fieldName: 'n' }])
  })

  it('rolls up with the aggregations recorded in the segments', async () => {
    const metrics = [
      { type: 'count', name: 'rows' },
      { type: 'longMax', name: 'most', fieldName: 'n' },
      { type: 'doubleSum', name: 'sum', fieldName: 'n' },
    ]
    const sources = [
      ...(await ingest([row(1, 'a', 2), row(1, 'a', 7)], { metrics, rollup: true })),
      ...(await ingest([row(1, 'a', 5)], { metrics, rollup: true })),
    ]
    const result = await rewrite(sources)
    assert.deepEqual(await rowsOf(result.segments, 'who, rows, most, sum'), [
      { who: 'a', rows: '3', most: '7', sum: 14 },
    ])
    const again = await rewrite(result.segments.map((segment) => sourceOf(segment, 'again')))
    assert.deepEqual(await rowsOf(again.segments), await rowsOf(result.segments))
  })

  it('rolls up as configured, with a coarser query granularity', async () => {
    const sources = await ingest([row(1, 'a', 2), row(2, 'a', 3), row(2, 'b', 4)])
    const result = await rewrite(sources, {
      granularitySpec: { segmentGranularity: 'MONTH', queryGranularity: 'MONTH', rollup: true },
      metricsSpec: [
        { type: 'longSum', name: 'total', fieldName: 'n' },
        { type: 'count', name: 'rows' },
      ],
      dimensionsSpec: { dimensions: ['who'] },
    })
    assert.deepEqual(await rowsOf(result.segments, 'epoch_ms(__time) AS t, who, total, rows'), [
      { t: String(day(1)), who: 'a', total: '5', rows: '2' },
      { t: String(day(1)), who: 'b', total: '4', rows: '1' },
    ])
  })

  it('splits a segment into shorter ones, and reads only visible times', async () => {
    const sources = await ingest([row(1, 'a', 1), row(2, 'b', 2), row(3, 'c', 3)], { granularity: 'MONTH' })
    const id = (sources[0] as RewriteSource).id
    const buckets = [1, 2, 3, 4].map((n): RewriteOrderBucket => {
      const interval = bucketOf('DAY', day(n))
      return { interval, rewritten: [{ id, times: [interval] }], kept: [] }
    })
    const result = await rewrite(sources, { granularitySpec: { segmentGranularity: 'DAY' } }, buckets)
    assert.deepEqual(
      result.segments.map(({ totalRows }) => totalRows),
      [1, 1, 1, 0],
      'a day without rows still overshadows the month',
    )
    assert.deepEqual(await rowsOf(result.segments.slice(1, 2), 'who'), [{ who: 'b' }])
  })

  it('keeps only the rows that match a filter', async () => {
    const sources = await ingest([row(1, 'a', 1), row(1, 'b', 2), row(1, null, 3), row(2, 'ab', 40)])
    const filters: readonly [filter: object, expected: string[]][] = [
      [{ type: 'selector', dimension: 'who', value: 'a' }, ['1']],
      [{ type: 'selector', dimension: 'who', value: null }, ['3']],
      [{ type: 'in', dimension: 'who', values: ['b', null] }, ['2', '3']],
      [{ type: 'in', dimension: 'who', values: [] }, []],
      [{ type: 'not', field: { type: 'selector', dimension: 'who', value: 'a' } }, ['2', '40']],
      [{ type: 'like', dimension: 'who', pattern: 'a%' }, ['1', '40']],
      [{ type: 'bound', dimension: 'n', lower: '5', ordering: 'numeric' }, ['40']],
      [
        { type: 'range', column: 'n', matchValueType: 'LONG', lower: 2, upper: 40, upperOpen: true },
        ['2', '3'],
      ],
      [{ type: 'equals', column: 'n', matchValueType: 'LONG', matchValue: 3 }, ['3']],
      [{ type: 'interval', dimension: '__time', intervals: ['2026-01-02/P1D'] }, ['40']],
      [{ type: 'null', column: 'nowhere' }, ['1', '2', '3', '40']],
      [
        {
          type: 'and',
          fields: [
            { type: 'true' },
            { type: 'or', fields: [{ type: 'false' }, { type: 'null', column: 'who' }] },
          ],
        },
        ['3'],
      ],
      [{ type: 'selector', dimension: 'who', value: "a' OR true --" }, []],
    ]
    for (const [filter, expected] of filters) {
      const result = await rewrite(sources, { transformSpec: { filter } })
      const rows = await rowsOf(result.segments, 'n', 'ORDER BY n')
      assert.deepEqual(
        rows.map(({ n }) => n),
        expected,
        JSON.stringify(filter),
      )
    }
  })

  const many = Array.from({ length: 60 }, (_, index) => row((index % 5) + 1, `w${index % 7}`, index))
  const partitioned: readonly [name: string, spec: object, sizes: (sizes: number[]) => boolean][] = [
    ['by rows', { type: 'dynamic', maxRowsPerSegment: 25 }, (sizes) => sizes.join() === '20,20,20'],
    [
      'by number of shards',
      { type: 'hashed', numShards: 3 },
      (sizes) => sizes.length <= 3 && sizes.length > 1,
    ],
    [
      'by hash',
      { type: 'hashed', targetRowsPerSegment: 30, partitionDimensions: ['who'] },
      (sizes) => sizes.length === 2,
    ],
    [
      'by range',
      { type: 'range', targetRowsPerSegment: 20, partitionDimensions: ['who'] },
      (sizes) => sizes.length > 1 && sizes.every((size) => size <= 30),
    ],
  ]
  for (const [name, partitionsSpec, isRight] of partitioned) {
    it(`partitions rows ${name}`, async () => {
      const sources = await ingest(many)
      const result = await rewrite(sources, { tuningConfig: { partitionsSpec } })
      const sizes = result.segments.map(({ totalRows }) => totalRows)
      assert.ok(isRight(sizes), String(sizes))
      assert.equal(
        sizes.reduce((sum, size) => sum + size, 0),
        60,
      )
      const [sums] = await rowsOf(result.segments, 'sum(n)::BIGINT AS n, count(DISTINCT n) AS different')
      assert.deepEqual(sums, { n: String((59 * 60) / 2), different: '60' })
      if ('partitionDimensions' in partitionsSpec) {
        const whos = await Promise.all(result.segments.map((segment) => rowsOf([segment], 'DISTINCT who')))
        assert.equal(whos.flat().length, 7, 'each value is in one segment only')
      }
    })
  }

  it('widens column types, and fills missing columns with nulls', async () => {
    const sources = [
      ...(await ingest([{ t: day(1), a: 1 }], { dimensions: [{ type: 'long', name: 'a' }], metrics: [] })),
      ...(await ingest([{ t: day(1), a: 1.5, b: 'x' }], {
        dimensions: [{ type: 'double', name: 'a' }, 'b'],
        metrics: [],
      })),
    ]
    const result = await rewrite(sources)
    assert.deepEqual(result.dimensions, [
      { name: 'a', type: 'double' },
      { name: 'b', type: 'string' },
    ])
    assert.deepEqual(await rowsOf(result.segments, 'a, b'), [
      { a: 1, b: null },
      { a: 1.5, b: 'x' },
    ])
  })

  it('keeps files unchanged', async () => {
    const [kept, fresh] = [await ingest([row(1, 'a', 1)]), await ingest([row(1, 'b', 2)])].flat()
    const interval = bucketOf('DAY', day(1))
    const sources = [kept, fresh] as RewriteSource[]
    const bucket = {
      interval,
      rewritten: [{ id: (fresh as RewriteSource).id, times: undefined }],
      kept: [(kept as RewriteSource).id],
    }
    const result = await rewrite(sources, {}, [bucket])
    assert.equal(result.segments.length, 2)
    assert.equal(result.segments[1]?.checksum, (kept as RewriteSource).loadSpec.checksum)
    assert.deepEqual(await rowsOf(result.segments, 'who', 'ORDER BY who'), [{ who: 'a' }, { who: 'b' }])
  })

  it('requires metricsSpec if segments aggregate a metric differently', async () => {
    const sources = [
      ...(await ingest([row(1, 'a', 1)])),
      ...(await ingest([row(1, 'a', 1)], { metrics: [{ type: 'longMax', name: 'n', fieldName: 'n' }] })),
    ]
    await assert.rejects(
      rewrite(sources, { granularitySpec: { rollup: true } }),
      ({ code, message }: Failure) => code === 'invalidInput' && /\[n\].*metricsSpec/.test(message),
    )
  })
})

describe('rewriting damaged segments', () => {
  const file = (source: RewriteSource) => path.join(storageFolder, source.loadSpec.path)
  const damages: readonly [
    name: string,
    damage: (source: RewriteSource) => RewriteSource,
    expected: RegExp,
  ][] = [
    [
      'a truncated file',
      (source) => {
        truncateSync(file(source), source.sizeBytes - 10)
        return source
      },
      /expected \[\d+\] bytes/,
    ],
    [
      'a file that is not Parquet, with the right checksum',
      (source) => replaced(source, Buffer.alloc(500, 'x')),
      /cannot be read|No magic bytes|Parquet/,
    ],
    [
      'a file with other columns',
      (source) => ({ ...source, dimensions: 'other' }),
      /has the columns \[who,n\], but the metadata store lists \[other,n\]/,
    ],
    [
      'a file with other rows',
      (source) => ({ ...source, totalRows: 7 }),
      /has \[1\] rows, but the metadata store lists \[7\]/,
    ],
  ]
  const replaced = (source: RewriteSource, bytes: Buffer): RewriteSource => {
    writeFileSync(file(source), bytes)
    const checksum = `sha256:${createHash('sha256')
      .update(readFileSync(file(source)))
      .digest('hex')}`
    return { ...source, sizeBytes: bytes.length, loadSpec: { ...source.loadSpec, checksum } }
  }
  for (const [name, damage, problem] of damages) {
    it(`reports ${name}, and leaves nothing behind`, async () => {
      const good = await ingest([row(1, 'a', 1)])
      const bad = (await ingest([row(2, 'b', 2)])).map(damage)
      const before = storedFiles()
      await assert.rejects(rewrite([...good, ...bad]), ({ message }: Failure) => problem.test(message))
      assert.equal(storedFiles(), before)
      assert.deepEqual(readdirSync(path.join(folder, 'work')), [])
    })
  }
})
