import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import type { SegmentPayload } from '@svc/domain/segment'
import { createLocalDeepStorage, type DeepStorage, isDamaged } from '../deep-storage/index.ts'
import type { Logger } from '../runtime/index.ts'
import { openSegmentCache, type SegmentCache } from './index.ts'

const quiet: Logger = { error: () => {}, warn: () => {}, info: () => {}, debug: () => {} }

interface Bench {
  readonly folder: string
  readonly cacheFolder: string
  readonly storageFolder: string
  readonly deepStorage: DeepStorage
  /** Pushes a segment of `size` bytes to deep storage. */
  segment(identifier: string, size?: number): Promise<SegmentPayload>
  open(parts?: {
    maxSizeBytes?: number
    locations?: { path: string; maxSizeBytes: number }[]
    deepStorage?: DeepStorage
    logger?: Logger
  }): Promise<SegmentCache>
}

function openBench(): Bench {
  const folder = mkdtempSync(join(tmpdir(), 'svc-cache-'))
  after(() => rmSync(folder, { recursive: true, force: true }))
  const cacheFolder = join(folder, 'cache')
  const storageFolder = join(folder, 'storage')
  const deepStorage = createLocalDeepStorage({ rootDirectory: storageFolder })
  let files = 0
  return {
    folder,
    cacheFolder,
    storageFolder,
    deepStorage,
    segment: async (identifier, size = 1000) => {
      const file = join(folder, 'new')
      writeFileSync(file, randomBytes(size))
      const { path, checksum } = await deepStorage.push(file, `wiki/${files++}/0.parquet`)
      return {
        dataSource: 'wiki',
        interval: '2026-01-01T00:00:00.000Z/2026-01-02T00:00:00.000Z',
        version: '2026-01-05T00:00:00.000Z',
        loadSpec: { type: 'local', path, checksum },
        dimensions: 'a,b',
        metrics: '',
        shardSpec: { type: 'numbered', partitionNum: 0, partitions: 0 },
        binaryVersion: 9,
        size,
        totalRows: 5,
        identifier,
      }
    },
    open: (parts = {}) =>
      openSegmentCache({
        serverName: 'historical:8083',
        locations: [{ path: cacheFolder, maxSizeBytes: 1_000_000 }],
        deepStorage,
        logger: quiet,
        ...parts,
      }),
  }
}

const contentOf = (cache: SegmentCache, id: string): Buffer => readFileSync(cache.fileOf(id) ?? 'nowhere')

function everythingBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort()
}

describe('a segment', () => {
  it('that is loaded is served byte for byte, even after a restart', async () => {
    const bench = openBench()
    const payload = await bench.segment('one', 2500)
    for (const start of ['first', 'second']) {
      const cache = await bench.open()
      assert.equal(cache.has('one'), start === 'second')
      await cache.load(payload)
      assert.ok(cache.has('one'))
      assert.deepEqual(cache.list(), [payload])
      assert.equal(cache.usedSizeBytes, 2500)
      assert.ok(
        contentOf(cache, 'one').equals(readFileSync(join(bench.storageFolder, payload.loadSpec.path))),
      )
      assert.deepEqual(cache.damaged, [])
    }
    assert.deepEqual(everythingBelow(bench.cacheFolder), [
      'segments/one/descriptor.json',
      'segments/one/segment.parquet',
    ])
  })

  it('that is dropped is gone, even after a restart', async () => {
    const bench = openBench()
    const cache = await bench.open()
    await cache.load(await bench.segment('one'))
    await cache.drop('one')
    await cache.drop('one')
    for (const opened of [cache, await bench.open()]) {
      assert.equal(opened.has('one'), false)
      assert.equal(opened.fileOf('one'), undefined)
      assert.deepEqual(opened.list(), [])
      assert.equal(opened.usedSizeBytes, 0)
    }
    assert.deepEqual(everythingBelow(bench.cacheFolder), [])
  })

  it('may have any ID', async () => {
    const bench = openBench()
    const cache = await bench.open()
    const ids = [
      '..',
      '.',
      '../../escape',
      'a/b',
      'a b',
      "it's",
      'größe',
      '日本'.repeat(120),
      'x'.repeat(3000),
      '%',
      '',
      '\0',
      'wiki_2026-01-01T00:00:00.000Z_2026-01-02T00:00:00.000Z_2026-01-05T00:00:00.000Z_1',
    ]
    for (const id of ids) await cache.load(await bench.segment(id))
    for (const opened of [cache, await bench.open()]) {
      assert.deepEqual(new Set(opened.list().map(({ identifier }) => identifier)), new Set(ids))
    }
    assert.deepEqual(readdirSync(bench.folder).sort(), ['cache', 'new', 'storage'])
    assert.deepEqual(readdirSync(bench.cacheFolder).sort(), ['loading', 'segments', 'trash'])
    for (const id of ids) await cache.drop(id)
    assert.deepEqual(everythingBelow(bench.cacheFolder), [])
  })

  it('that is loaded many times concurrently is fetched once', async () => {
    const bench = openBench()
    const payload = await bench.segment('one')
    let fetches = 0
    const deepStorage: DeepStorage = {
      ...bench.deepStorage,
      fetch: (...parts) => {
        fetches += 1
        return bench.deepStorage.fetch(...parts)
      },
    }
    const cache = await bench.open({ deepStorage })
    await Promise.all(Array.from({ length: 10 }, () => cache.load(payload)))
    await cache.load(payload)
    assert.equal(fetches, 1)
    assert.equal(cache.usedSizeBytes, 1000)
  })

  it('that one caller cancels is still loaded for another', async () => {
    const bench = openBench()
    const payload = await bench.segment('one', 900_000)
    const cache = await bench.open()
    const stop = new AbortController()
    const first = cache.load(payload, stop.signal)
    const second = cache.load(payload)
    const reason = new Error('no longer wanted')
    stop.abort(reason)
    await assert.rejects(first, reason)
    await second
    assert.ok(cache.has('one'))
    assert.equal(cache.usedSizeBytes, 900_000)
  })

  it('ends up in the state of the last command', async () => {
    const bench = openBench()
    const payload = await bench.segment('one')
    const cache = await bench.open()
    await Promise.all([cache.load(payload), cache.drop('one'), cache.load(payload), cache.drop('one')])
    assert.equal(cache.has('one'), false)
    await Promise.all([cache.drop('one'), cache.load(payload)])
    assert.ok(cache.has('one'))
    assert.equal(cache.usedSizeBytes, 1000)
  })

  it('with the same ID and different bytes replaces the old one', async () => {
    const bench = openBench()
    const cache = await bench.open()
    await cache.load(await bench.segment('one', 1000))
    const other = await bench.segment('one', 700)
    await cache.load(other)
    assert.equal(cache.usedSizeBytes, 700)
    assert.deepEqual(cache.list(), [other])
    assert.deepEqual((await bench.open()).list(), [other])
  })

  it('is still served while deep storage is unavailable, and others are rejected', async () => {
    const bench = openBench()
    const payload = await bench.segment('one')
    const missing = await bench.segment('two')
    const cache = await bench.open()
    await cache.load(payload)
    const bytes = contentOf(cache, 'one')
    renameSync(bench.storageFolder, `${bench.storageFolder}-away`)
    for (const opened of [cache, await bench.open()]) {
      await opened.load(payload)
      assert.ok(contentOf(opened, 'one').equals(bytes))
      await assert.rejects(opened.load(missing), {
        code: 'unavailable',
        message: /^Failed to read deep storage .*: ENOENT$/,
      })
      assert.equal(opened.usedSizeBytes, 1000)
    }
    assert.deepEqual(readdirSync(join(bench.cacheFolder, 'loading')), [])
  })

  it('whose file in deep storage is damaged or missing is not loaded', async () => {
    const bench = openBench()
    const cache = await bench.open()
    const damaged = await bench.segment('damaged')
    writeFileSync(join(bench.storageFolder, damaged.loadSpec.path), randomBytes(1000))
    await assert.rejects(cache.load(damaged), (error) => isDamaged(error))
    const gone = await bench.segment('gone')
    await bench.deepStorage.remove(gone.loadSpec)
    await assert.rejects(cache.load(gone), { code: 'notFound' })
    const outside = await bench.segment('outside')
    await assert.rejects(cache.load({ ...outside, loadSpec: { ...outside.loadSpec, path: '../secret' } }), {
      code: 'invalidInput',
    })
    await assert.rejects(cache.load({ ...outside, size: -1 }), { code: 'invalidInput' })
    assert.equal(cache.usedSizeBytes, 0)
    assert.deepEqual(everythingBelow(bench.cacheFolder), [])
  })
})

describe('space', () => {
  it('is never exceeded by concurrent loads', async () => {
    const bench = openBench()
    const cache = await bench.open({ locations: [{ path: bench.cacheFolder, maxSizeBytes: 3500 }] })
    const payloads = await Promise.all(
      [1, 2, 3, 4, 5].map((n) => bench.segment(`s${n}`)).map((payload) => payload),
    )
    const outcomes = await Promise.allSettled(payloads.map((payload) => cache.load(payload)))
    assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 3)
    assert.equal(cache.usedSizeBytes, 3000)
    const refused = outcomes.find((outcome) => outcome.status === 'rejected')
    assert.match(
      String(refused?.reason.message),
      /^Segment \[s\d\] needs \[1000\] bytes, but server \[historical:8083\] has only \[500\] of its \[3500\] bytes free$/,
    )
    assert.equal(refused?.reason.code, 'tooLarge')
    await cache.drop(cache.list()[0]?.identifier as string)
    await cache.load(payloads.find(({ identifier }) => !cache.has(identifier)) as SegmentPayload)
    assert.equal(cache.usedSizeBytes, 3000)
  })

  it('of a segment that is being removed is awaited', async () => {
    const bench = openBench()
    const cache = await bench.open({ locations: [{ path: bench.cacheFolder, maxSizeBytes: 3500 }] })
    const payloads = await Promise.all(['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((id) => bench.segment(id)))
    const loadAll = (some: readonly SegmentPayload[]) =>
      Promise.allSettled(some.map((payload) => cache.load(payload)))
    await loadAll(payloads.slice(0, 3))
    const drops = ['a', 'b', 'c'].map((id) => cache.drop(id))
    const outcomes = await loadAll(payloads.slice(3))
    await Promise.all(drops)
    assert.deepEqual(
      outcomes.map(({ status }) => status),
      ['fulfilled', 'fulfilled', 'fulfilled', 'rejected'],
    )
    assert.equal(cache.usedSizeBytes, 3000)
  })

  it('is used in the location with the most free space', async () => {
    const bench = openBench()
    const [small, large] = [join(bench.folder, 'small'), join(bench.folder, 'large')]
    const cache = await bench.open({
      locations: [
        { path: small, maxSizeBytes: 2000 },
        { path: large, maxSizeBytes: 3000 },
      ],
    })
    assert.equal(cache.maxSizeBytes, 5000)
    for (const id of ['a', 'b', 'c']) await cache.load(await bench.segment(id))
    assert.deepEqual(
      [readdirSync(join(small, 'segments')).length, readdirSync(join(large, 'segments')).length],
      [1, 2],
    )
    // 2000 bytes are free, but not in one location.
    await assert.rejects(cache.load(await bench.segment('d', 1500)), {
      message: /has only \[1000\] of its \[5000\] bytes free$/,
    })
  })

  it('may be limited below the sum of all locations', async () => {
    const bench = openBench()
    const cache = await bench.open({ maxSizeBytes: 1500 })
    assert.equal(cache.maxSizeBytes, 1500)
    await cache.load(await bench.segment('a'))
    await assert.rejects(cache.load(await bench.segment('b')), {
      message: /has only \[500\] of its \[1500\] bytes free$/,
    })
  })

  it('that shrinks does not evict segments', async () => {
    const bench = openBench()
    const cache = await bench.open()
    for (const id of ['a', 'b']) await cache.load(await bench.segment(id))
    const smaller = await bench.open({ locations: [{ path: bench.cacheFolder, maxSizeBytes: 1200 }] })
    assert.equal(smaller.list().length, 2)
    await assert.rejects(smaller.load(await bench.segment('c')), {
      message: /has only \[0\] of its \[1200\] bytes free$/,
    })
  })

  it('is unavailable if a location cannot be used', async () => {
    const bench = openBench()
    const file = join(bench.folder, 'file')
    writeFileSync(file, '')
    await assert.rejects(bench.open({ locations: [{ path: file, maxSizeBytes: 1 }] }), {
      code: 'unavailable',
      message: `Segment cache location [${file}] cannot be used: ENOTDIR`,
    })
    mkdirSync(bench.cacheFolder)
    symlinkSync(bench.cacheFolder, join(bench.folder, 'link'))
    const twice = [bench.cacheFolder, join(bench.folder, 'link')].map((path) => ({ path, maxSizeBytes: 1 }))
    await assert.rejects(bench.open({ locations: twice }), { message: /is listed twice$/ })
  })
})

describe('after a crash', () => {
  /** A cache with `kept` and `hurt`, reopened after the process was killed and the disk changed. */
  async function afterChange(change: (damagedFolder: string, bench: Bench) => void) {
    const bench = openBench()
    const [kept, damagedSegment] = [await bench.segment('kept'), await bench.segment('hurt')]
    const before = await bench.open()
    await before.load(kept)
    await before.load(damagedSegment)
    change(join(bench.cacheFolder, 'segments', 'hurt'), bench)
    const messages: string[] = []
    const logger: Logger = { ...quiet, warn: (_, details) => messages.push(JSON.stringify(details)) }
    return { bench, kept, damagedSegment, messages, cache: await bench.open({ logger }) }
  }

  const change = (file: string, edit: (bytes: Buffer) => Buffer): void =>
    writeFileSync(file, edit(readFileSync(file)))
  const flip = (bytes: Buffer): Buffer => {
    bytes[500] = (bytes[500] as number) ^ 1
    return bytes
  }

  const damages: {
    name: string
    change: (folder: string) => void
    problem: RegExp
    knowsPayload: boolean
  }[] = [
    {
      name: 'a flipped bit in a file of the same size',
      change: (folder) => change(join(folder, 'segment.parquet'), flip),
      problem: /^expected checksum \[sha256:\w+\] but found \[sha256:\w+\]$/,
      knowsPayload: true,
    },
    {
      name: 'a truncated file',
      change: (folder) => change(join(folder, 'segment.parquet'), (bytes) => bytes.subarray(0, 10)),
      problem: /^expected \[1000\] bytes but found \[10\]$/,
      knowsPayload: true,
    },
    {
      name: 'a missing file',
      change: (folder) => rmSync(join(folder, 'segment.parquet')),
      problem: /^the segment file is missing$/,
      knowsPayload: true,
    },
    {
      name: 'a file that became a folder',
      change: (folder) => {
        rmSync(join(folder, 'segment.parquet'))
        mkdirSync(join(folder, 'segment.parquet'))
      },
      problem: /bytes|EISDIR/,
      knowsPayload: true,
    },
    {
      name: 'no descriptor',
      change: (folder) => rmSync(join(folder, 'descriptor.json')),
      problem: /^the folder has no descriptor$/,
      knowsPayload: false,
    },
    {
      name: 'a truncated descriptor',
      change: (folder) => change(join(folder, 'descriptor.json'), (bytes) => bytes.subarray(0, 100)),
      problem: /^the descriptor is invalid$/,
      knowsPayload: false,
    },
    {
      name: 'an empty descriptor',
      change: (folder) => writeFileSync(join(folder, 'descriptor.json'), ''),
      problem: /^the descriptor is invalid$/,
      knowsPayload: false,
    },
    {
      name: 'a descriptor with different JSON',
      change: (folder) => writeFileSync(join(folder, 'descriptor.json'), 'null'),
      problem: /^the descriptor is invalid$/,
      knowsPayload: false,
    },
    {
      name: 'a descriptor with one character changed',
      change: (folder) =>
        change(join(folder, 'descriptor.json'), (bytes) =>
          Buffer.from(bytes.toString().replace('2026-01-02T', '2026-01-03T')),
        ),
      problem: /^the descriptor is invalid$/,
      knowsPayload: false,
    },
    {
      name: 'an empty folder',
      change: (folder) => {
        rmSync(folder, { recursive: true })
        mkdirSync(folder)
      },
      problem: /^the folder has no descriptor$/,
      knowsPayload: false,
    },
    {
      name: 'a file in place of the folder',
      change: (folder) => {
        rmSync(folder, { recursive: true })
        writeFileSync(folder, 'x')
      },
      problem: /^failed to read the folder: ENOTDIR$/,
      knowsPayload: false,
    },
  ]
  for (const { name, change, problem, knowsPayload } of damages) {
    it(`${name}: removes and reports the segment, and can load it again`, async () => {
      const { bench, kept, damagedSegment, messages, cache } = await afterChange(change)
      assert.deepEqual(cache.list(), [kept])
      assert.equal(cache.fileOf('hurt'), undefined)
      assert.equal(cache.usedSizeBytes, 1000)
      assert.equal(cache.damaged.length, 1)
      assert.match(cache.damaged[0]?.problem ?? '', problem)
      assert.deepEqual(cache.damaged[0]?.payload, knowsPayload ? damagedSegment : undefined)
      assert.equal(messages.length, 1)
      assert.ok(!existsSync(join(bench.cacheFolder, 'segments', 'hurt')))
      assert.deepEqual(readdirSync(join(bench.cacheFolder, 'trash')), [])
      await cache.load(damagedSegment)
      assert.equal((await bench.open()).list().length, 2)
      assert.ok(
        contentOf(cache, 'hurt').equals(
          readFileSync(join(bench.storageFolder, damagedSegment.loadSpec.path)),
        ),
      )
    })
  }

  it('a folder with the name of another segment: does not confuse the two', async () => {
    const { cache, damagedSegment } = await afterChange((folder, bench) => {
      rmSync(folder, { recursive: true })
      cpSync(join(bench.cacheFolder, 'segments', 'kept'), folder, { recursive: true })
    })
    assert.deepEqual(
      cache.list().map(({ identifier }) => identifier),
      ['kept'],
    )
    assert.match(cache.damaged[0]?.problem ?? '', /^the folder name does not match segment \[kept\]$/)
    await cache.load(damagedSegment)
  })

  // Points at which the process may have been killed, as seen on disk.
  const interruptions: { name: string; change: (folder: string, bench: Bench) => void; isServed: boolean }[] =
    [
      {
        name: 'a load before its first byte',
        change: (folder, bench) => {
          rmSync(folder, { recursive: true })
          mkdirSync(join(bench.cacheFolder, 'loading', 'some'))
        },
        isServed: false,
      },
      {
        name: 'a load in the middle of its file',
        change: (folder, bench) => {
          const loading = join(bench.cacheFolder, 'loading', 'some')
          mkdirSync(loading)
          writeFileSync(join(loading, 'segment.parquet.123.tmp'), randomBytes(400))
          rmSync(folder, { recursive: true })
        },
        isServed: false,
      },
      {
        name: 'a load with its file complete and no descriptor',
        change: (folder, bench) => {
          rmSync(join(folder, 'descriptor.json'))
          renameSync(folder, join(bench.cacheFolder, 'loading', 'some'))
        },
        isServed: false,
      },
      {
        name: 'a load with all files complete, not moved into place yet',
        change: (folder, bench) => renameSync(folder, join(bench.cacheFolder, 'loading', 'some')),
        isServed: false,
      },
      { name: 'a load just after it completed', change: () => {}, isServed: true },
      {
        name: 'a drop that has moved the folder',
        change: (folder, bench) => renameSync(folder, join(bench.cacheFolder, 'trash', 'some')),
        isServed: false,
      },
      {
        name: 'a drop that has removed some of the files',
        change: (folder, bench) => {
          rmSync(join(folder, 'descriptor.json'))
          renameSync(folder, join(bench.cacheFolder, 'trash', 'some'))
        },
        isServed: false,
      },
    ]
  for (const { name, change, isServed } of interruptions) {
    it(`${name}: ${isServed ? 'serves the segment' : 'leaves nothing behind'}`, async () => {
      const { bench, damagedSegment, messages, cache } = await afterChange(change)
      assert.equal(cache.has('hurt'), isServed)
      assert.equal(cache.usedSizeBytes, isServed ? 2000 : 1000)
      assert.deepEqual([cache.damaged, messages], [[], []])
      assert.equal(everythingBelow(bench.cacheFolder).length, isServed ? 4 : 2)
      await cache.load(damagedSegment)
      assert.ok(cache.has('hurt'))
    })
  }

  it('the same segment in two locations: keeps one', async () => {
    const bench = openBench()
    const locations = ['one', 'two'].map((name) => ({ path: join(bench.folder, name), maxSizeBytes: 5000 }))
    const payload = await bench.segment('s')
    for (const location of locations) await (await bench.open({ locations: [location] })).load(payload)
    const cache = await bench.open({ locations })
    assert.deepEqual(cache.list(), [payload])
    assert.equal(cache.usedSizeBytes, 1000)
    assert.equal(everythingBelow(bench.folder).filter((name) => name.endsWith('segment.parquet')).length, 1)
    assert.deepEqual(cache.damaged, [])
  })

  it('a damaged copy next to an intact one: does not fetch the segment again', async () => {
    const bench = openBench()
    const locations = ['one', 'two'].map((name) => ({ path: join(bench.folder, name), maxSizeBytes: 5000 }))
    const payload = await bench.segment('s')
    for (const location of locations) await (await bench.open({ locations: [location] })).load(payload)
    change(join(bench.folder, 'one', 'segments', 's', 'segment.parquet'), flip)
    const cache = await bench.open({ locations })
    assert.deepEqual(cache.list(), [payload])
    assert.deepEqual(cache.damaged, [])
  })
})
