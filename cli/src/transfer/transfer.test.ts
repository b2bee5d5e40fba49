import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { after, describe, it } from 'node:test'
import { temporaryFolder } from '@svc/shared/testing'
import {
  exportSnapshot,
  openFolder,
  openHttp,
  readSegmentRow,
  type SegmentRow,
  type SnapshotSource,
} from './index.ts'

const payload = {
  dataSource: 'wiki',
  interval: '2026-01-01/2026-01-02',
  version: '2026-01-02T00:00:00.000Z',
  shardSpec: { type: 'numbered', partitionNum: 1, partitions: 2 },
  size: 10,
  totalRows: 3,
}
const normal = {
  dataSource: 'wiki',
  interval: '2026-01-01T00:00:00.000Z/2026-01-02T00:00:00.000Z',
  version: '2026-01-02T00:00:00.000Z',
  dimensions: '',
  metrics: '',
  shardSpec: { type: 'numbered', partitionNum: 1, partitions: 2 },
  size: 10,
  totalRows: 3,
}
const options = { skipBad: false, onProgress: () => undefined, signal: new AbortController().signal }
const folder = temporaryFolder({ after })

const listen = async (handler: RequestListener): Promise<string> => {
  const server = createServer(handler)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
const folderContents = (target: string) =>
  readdirSync(target)
    .sort()
    .map((name) => [name, readFileSync(path.join(target, name), 'utf8')])
const all = async (rows: AsyncIterable<SegmentRow>): Promise<SegmentRow[]> => {
  const list: SegmentRow[] = []
  for await (const row of rows) list.push(row)
  return list
}

describe('a row of an inventory', () => {
  const good: readonly [name: string, change: object, found: object][] = [
    ['of a numbered partition', {}, { partitionNum: 1, partitions: 2 }],
    ['without partitions', { shardSpec: { type: 'none' } }, { partitionNum: 0, partitions: 1 }],
    ['without a kind of partition', { shardSpec: undefined }, { partitionNum: 0, partitions: 1 }],
    [
      'of a range',
      { shardSpec: { type: 'range', partitionNum: 3, numCorePartitions: 4 } },
      { partitionNum: 3, partitions: 4 },
    ],
    [
      'that was appended',
      { shardSpec: { type: 'linear', partitionNum: 5 } },
      { partitionNum: 5, partitions: 0 },
    ],
    ['whose rows nobody counted', { totalRows: null }, { totalRows: 0 }],
    ['whose rows only the cluster counts', { totalRows: undefined, numRows: 7 }, { totalRows: 7 }],
    [
      'of a hash',
      {
        shardSpec: {
          type: 'hashed',
          partitionNum: 1,
          partitions: 2,
          numBuckets: 2,
          partitionDimensions: ['a'],
        },
      },
      { partitionNum: 1, partitions: 2 },
    ],
    ['of nothing', { shardSpec: { type: 'tombstone' }, size: 0 }, { partitions: 1, sizeBytes: 0 }],
  ]
  for (const [name, change, found] of good) {
    it(`${name} is read`, () => {
      const read = readSegmentRow({ ...payload, ...change })
      assert.ok('segment' in read, JSON.stringify(read))
      assert.partialDeepStrictEqual({ ...read.segment }, { dataSource: 'wiki', sizeBytes: 10, ...found })
    })
  }

  const bad: readonly [value: unknown, told: RegExp][] = [
    [7, /is \[7\], allowed is a JSON object/],
    [null, /is \[null\]/],
    [[], /is \[\[\]\]/],
    [{ ...payload, dataSource: ' ' }, /field dataSource has the value/],
    [{ ...payload, interval: 'yesterday' }, /field interval has the value/],
    [{ ...payload, interval: 3 }, /field \[interval\]/],
    [{ ...payload, version: '' }, /field version has the value/],
    [{ ...payload, size: -1 }, /field \[size\] has value \[-1\]/],
    [{ ...payload, size: '10' }, /field \[size\]/],
    [{ ...payload, totalRows: 0.5 }, /field \[totalRows\]/],
    [
      { ...payload, shardSpec: { type: 'numbered_overwrite', partitionNum: 32768 } },
      /field \[shardSpec.type\]/,
    ],
    [{ ...payload, shardSpec: { type: 'numbered', partitionNum: -3 } }, /field \[shardSpec.partitionNum\]/],
    [
      { ...payload, shardSpec: { type: 'numbered', partitionNum: 2 ** 31 } },
      /field \[shardSpec.partitionNum\]/,
    ],
    [{ ...payload, shardSpec: 'numbered' }, /field \[shardSpec.type\] has value \[numbered\]/],
    [{ ...payload, dataSource: 'a\u0000b' }, /field dataSource has the value/],
    [{ ...payload, interval: '2026-01-01/2026-01-01' }, /field \[interval\].* not empty/],
    [{ ...payload, lastCompactionState: 'range' }, /field \[lastCompactionState\]/],
  ]
  for (const [value, told] of bad) {
    it(`${JSON.stringify(value)?.slice(0, 60)} is refused: ${told.source}`, () => {
      const read = readSegmentRow(value)
      assert.ok('problem' in read)
      assert.match(read.problem, told)
    })
  }
})

describe('a cluster that is read', () => {
  const rules = [{ type: 'loadForever', tieredReplicants: { hot: 1 } }]
  const servers = [
    { host: 'b:1', tier: 'hot', type: 'historical', priority: 3, currSize: 7, maxSize: 5 },
    { host: 'c:1', tier: '_default_tier', type: 'broker', maxSize: 1 },
    { host: 'a:1', tier: 'hot', type: 'historical', currSize: 7, maxSize: 5 },
  ]
  const cluster = (answers: Record<string, unknown>) =>
    listen((request, response) => {
      const answer = answers[request.url ?? '']
      response.writeHead(answer ? 200 : 404, { 'content-type': 'application/json' })
      response.end(JSON.stringify(answer ?? {}))
    })
  const segmentsPath = '/druid/coordinator/v1/metadata/segments?includeOvershadowedStatus'
  const answers: Record<string, unknown> = {
    '/druid/coordinator/v1/rules': { wiki: rules, _default: rules },
    '/druid/coordinator/v1/servers?simple': servers,
    '/druid/coordinator/v1/config': {
      maxSegmentsToMove: 5,
      debugDimensions: null,
      balancerComputeThreads: 2,
    },
    '/druid/coordinator/v1/config/compaction': {
      compactionConfigs: [{ dataSource: 'wiki' }, { dataSource: 'koala' }],
      compactionTaskSlotRatio: 0.5,
    },
    [segmentsPath]: [
      { ...payload, loadSpec: { type: 's3_zip', key: 'k' }, overshadowed: true },
      { ...payload, dataSource: 'koala', lastCompactionState: { b: 1 } },
    ],
  }

  it('is found under either word, and exported whole, in one order', async () => {
    const target = path.join(folder, 'exported')
    const result = await exportSnapshot(await openHttp({ url: await cluster(answers) }), target, options)
    assert.deepEqual(result, {
      folder: target,
      segments: 2,
      overshadowed: 1,
      files: ['servers.json', 'rules.json', 'compaction.json', 'config.json', 'segments.jsonl'],
      leftOut: 0,
      problems: [],
    })
    const source = openFolder(target)
    const stored = [{ ...rules[0], useDefaultTierForNull: true }]
    assert.deepEqual(await source.document('rules'), { _default: stored, wiki: stored })
    assert.partialDeepStrictEqual(await source.document('config'), {
      balancerComputeThreads: 2,
      maxSegmentsToMove: 5,
      replicantLifetime: 15,
    })
    assert.deepEqual(await source.document('servers'), [
      { host: 'a:1', tier: 'hot', type: 'historical', priority: 0, maxSize: 5 },
      { host: 'b:1', tier: 'hot', type: 'historical', priority: 3, maxSize: 5 },
    ])
    const compaction = (await source.document('compaction')) as {
      compactionConfigs: { dataSource: string }[]
    }
    assert.deepEqual(
      compaction.compactionConfigs.map(({ dataSource }) => dataSource),
      ['koala', 'wiki'],
    )
    assert.deepEqual(
      (await all(source.segments())).map(({ value }) => value),
      [
        { ...normal, dataSource: 'koala', lastCompactionState: { b: 1 } },
        { ...normal, dataSource: 'wiki' },
      ],
    )
    await assert.rejects(exportSnapshot(source, target, options), /exists already/)
    const again = path.join(folder, 'exported-again')
    await exportSnapshot(source, again, options)
    assert.deepEqual(folderContents(again), folderContents(target))
  })

  it('whose compaction supervisors run is asked for their configurations', async () => {
    const source = await openHttp({
      url: await cluster({
        ...answers,
        '/druid/coordinator/v1/config/compaction': {
          compactionConfigs: [],
          useSupervisors: true,
          engine: 'native',
        },
        '/druid/indexer/v1/compaction/config/datasources': { compactionConfigs: [{ dataSource: 'koala' }] },
      }),
    })
    assert.deepEqual(await source.document('compaction'), {
      compactionConfigs: [{ dataSource: 'koala' }],
      useSupervisors: true,
      engine: 'native',
    })
  })

  it('has all its problems told, the first ones by where they stand, or is read without them', async () => {
    const broken = Array.from({ length: 30 }, () => ({ ...payload, size: -1 }))
    const source = await openHttp({
      url: await cluster({
        ...answers,
        '/druid/coordinator/v1/rules': { wiki: [{ type: 'loadSometimes' }], _default: rules },
        '/druid/coordinator/v1/servers?simple': [...servers, servers[0], { type: 'historical', host: 'd:1' }],
        '/druid/coordinator/v1/config': { colour: 'red' },
        '/druid/coordinator/v1/config/compaction': { compactionConfigs: [{}], compactionTaskSlotRatio: 2 },
        [segmentsPath]: [payload, ...broken, payload],
      }),
    })
    const target = path.join(folder, 'bad')
    const problemsFile = path.join(folder, 'problems')
    await assert.rejects(
      exportSnapshot(source, target, { ...options, problemsFile }),
      ({ message }: Error) => {
        assert.match(
          message,
          /^\[37\] parts of .* nothing was made; --skip-bad leaves them out, --problems FILE gets every one\n/,
        )
        for (const told of [
          /servers.json server \[4\]: host \[b:1\] is there twice/,
          /servers.json server \[5\]: host has|servers.json server \[5\]: maxSize has the value \[nothing\]/,
          /rules.json: .*loadSometimes/,
          /compaction.json: compactionTaskSlotRatio/,
          /compaction.json: compactionConfigs\[0\].dataSource/,
          /config.json: .*colour/,
          /segments row \[2\]: field \[size\]/,
          /\n {2}and 17 more$/,
        ])
          assert.match(message, told)
        return true
      },
    )
    const written = readFileSync(problemsFile, 'utf8').split('\n')
    assert.equal(written.length, 37 + 1)
    assert.match(written.at(-2) ?? '', /^segments row \[32\]: segment \[.*\] is there already$/)
    assert.equal(existsSync(target), false)
    const result = await exportSnapshot(source, target, { ...options, skipBad: true })
    assert.deepEqual([result.segments, result.leftOut, result.problems.length], [1, 37, 21])
  })

  it('is followed to the one that leads, on the same host only', async () => {
    const leader = await cluster(answers)
    const follower = await listen((request, response) => {
      response.writeHead(307, { location: `${leader}${request.url}` })
      response.end()
    })
    const source = await openHttp({ url: follower })
    assert.deepEqual(await source.document('servers'), servers)
    for (const location of ['http://elsewhere.example/druid', 'https://127.0.0.1:1/', 'http://[']) {
      const astray = await listen((_request, response) => {
        response.writeHead(302, { location })
        response.end()
      })
      await assert.rejects(
        openHttp({ url: astray, credentials: 'a:b' }),
        /redirects to .* where the login is not sent/,
      )
    }
    const round = await listen((request, response) => {
      response.writeHead(302, { location: request.url })
      response.end()
    })
    await assert.rejects(openHttp({ url: round }), /redirects more than 5 times/)
  })

  it('is told when it answers with a page, refuses the login, breaks off or falls silent', async () => {
    const page = await listen((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/html' })
      response.end('<html>')
    })
    await assert.rejects(
      openHttp({ url: page }),
      /answered status \[200\] with \[text\/html\] instead of JSON/,
    )
    const closed = await listen((_request, response) => {
      response.writeHead(401, { 'content-type': 'application/json' })
      response.end('{}')
    })
    await assert.rejects(openHttp({ url: closed }), /status \[401\]: give --user and --password-file/)
    const silent = await listen(() => undefined)
    await assert.rejects(openHttp({ url: silent, timeoutMs: 50 }), /nothing came for 50 ms/)
    const elsewhere = await listen((_request, response) => {
      response.writeHead(404)
      response.end()
    })
    await assert.rejects(
      openHttp({ url: elsewhere }),
      /offers neither \/svc\/coordinator nor \/druid\/coordinator/,
    )
    const broken = await listen((request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      if (request.url?.includes('/segments')) {
        response.write(`[${JSON.stringify(payload)},{"dataSource":`, () => response.destroy())
      } else response.end(request.url?.includes('/servers') ? '[]' : '{}')
    })
    const target = path.join(folder, 'broken')
    const source = await openHttp({ url: broken })
    await assert.rejects(exportSnapshot(source, target, options), /break off after \[1\]/)
    assert.equal(existsSync(target), false)
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.startsWith('broken')),
      [],
    )
  })

  it('may fall silent in the middle, or be given up', async () => {
    const slow = await listen((request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      if (request.url?.includes('/segments')) response.write(`[${JSON.stringify(payload)},`)
      else response.end(request.url?.includes('/servers') ? '[]' : '{}')
    })
    const target = path.join(folder, 'slow')
    const impatient = await openHttp({ url: slow, timeoutMs: 200 })
    await assert.rejects(
      exportSnapshot(impatient, target, options),
      /break off after \[1\]: nothing came for 200 ms/,
    )
    const controller = new AbortController()
    const { signal } = controller
    const source = await openHttp({ url: slow, signal })
    const watched: SnapshotSource = {
      ...source,
      segments: async function* () {
        for await (const row of source.segments()) {
          yield row
          controller.abort(new Error('given up'))
        }
      },
    }
    await assert.rejects(exportSnapshot(watched, target, { ...options, signal }), /^Error: given up/)
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.startsWith('slow')),
      [],
    )
  })

  it('cannot be an address with a path, or a folder without segments', async () => {
    await assert.rejects(openHttp({ url: 'http://a/b' }), /is not one such as/)
    assert.throws(() => openFolder(folder), /has neither \[segments.jsonl\] nor \[segments.json\]/)
  })
})

describe('a folder that is read', () => {
  it('may hold a list, or lines of which some are no JSON', async () => {
    const list = path.join(folder, 'list')
    mkdirSync(list)
    writeFileSync(path.join(list, 'segments.json'), JSON.stringify([payload, 3]))
    assert.deepEqual(await all(openFolder(list).segments()), [
      { row: 1, value: payload },
      { row: 2, value: 3 },
    ])
    writeFileSync(path.join(list, 'segments.jsonl'), `${JSON.stringify(payload)}\n\n{oops\n`)
    assert.deepEqual(await all(openFolder(list).segments()), [
      { row: 1, value: payload },
      { row: 3, problem: 'is not JSON' },
    ])
    await assert.rejects(openFolder(list).document('rules'), /has no file \[rules.json\]/)
    writeFileSync(path.join(list, 'rules.json'), 'oops')
    await assert.rejects(openFolder(list).document('rules'), /rules.json\] is not JSON/)
  })
})
