import assert from 'node:assert/strict'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { after, describe, it } from 'node:test'
import { readSegmentRow } from '@svc/domain/snapshot'
import { temporaryFolder } from '@svc/shared/testing'
import { exportSnapshot, openFolder, openHttp, type SegmentRow, type SnapshotSource } from './index.ts'

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
    ['without a partition type', { shardSpec: undefined }, { partitionNum: 0, partitions: 1 }],
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
    ['without a row count', { totalRows: null }, { totalRows: 0 }],
    ['with the row count of the cluster', { totalRows: undefined, numRows: 7 }, { totalRows: 7 }],
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
    ['with a space before the name of the datasource', { dataSource: ' a' }, { dataSource: ' a' }],
    ['of a tombstone', { shardSpec: { type: 'tombstone' }, size: 0 }, { partitions: 1, sizeBytes: 0 }],
  ]
  for (const [name, change, found] of good) {
    it(`${name} is accepted`, () => {
      const read = readSegmentRow({ ...payload, ...change })
      assert.ok('segment' in read, JSON.stringify(read))
      assert.partialDeepStrictEqual({ ...read.segment }, { dataSource: 'wiki', sizeBytes: 10, ...found })
    })
  }

  const bad: readonly [value: unknown, problem: RegExp][] = [
    [7, /^Invalid value \[7\]: expected a JSON object$/],
    [null, /^Invalid value \[null\]/],
    [[], /^Invalid value \[\[\]\]/],
    [{ ...payload, dataSource: ' ' }, /\bdataSource\b/],
    [{ ...payload, dataSource: '..' }, /^Invalid value \[\.\.\] for \[dataSource\]/],
    [{ ...payload, interval: 'yesterday' }, /\binterval\b.*\[yesterday\]|\[yesterday\].*\binterval\b/],
    [{ ...payload, interval: 3 }, /for \[interval\]: expected an ISO 8601 interval/],
    [{ ...payload, version: '' }, /\bversion\b/],
    [{ ...payload, size: -1 }, /^Invalid value \[-1\] for \[size\]/],
    [{ ...payload, size: '10' }, /for \[size\]/],
    [{ ...payload, totalRows: 0.5 }, /for \[totalRows\]/],
    [
      { ...payload, shardSpec: { type: 'numbered_overwrite', partitionNum: 32768 } },
      /for \[shardSpec.type\]/,
    ],
    [{ ...payload, shardSpec: { type: 'numbered', partitionNum: -3 } }, /for \[shardSpec.partitionNum\]/],
    [
      { ...payload, shardSpec: { type: 'numbered', partitionNum: 2 ** 31 } },
      /for \[shardSpec.partitionNum\]/,
    ],
    [{ ...payload, shardSpec: 'numbered' }, /^Invalid value \[numbered\] for \[shardSpec.type\]/],
    [{ ...payload, dataSource: 'a\u0000b' }, /\bdataSource\b/],
    [{ ...payload, interval: '2026-01-01/2026-01-01' }, /for \[interval\]: expected a non-empty interval/],
    [{ ...payload, lastCompactionState: 'range' }, /for \[lastCompactionState\]/],
  ]
  for (const [value, problem] of bad) {
    it(`${JSON.stringify(value)?.slice(0, 60)} is rejected: ${problem.source}`, () => {
      const read = readSegmentRow(value)
      assert.ok('problem' in read)
      assert.match(read.problem, problem)
    })
  }
})

describe('a source cluster', () => {
  const rules = [{ type: 'loadForever', tieredReplicants: { hot: 1, warm: 1, cold: 0 } }]
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

  it('is found under either prefix, and exported completely in canonical order', async () => {
    const target = path.join(folder, 'exported')
    const result = await exportSnapshot(await openHttp({ url: await cluster(answers) }), target, options)
    assert.deepEqual(result, {
      folder: target,
      segments: 2,
      overshadowed: 1,
      sizeBytes: 10,
      files: [
        'servers.json',
        'rules.json',
        'compaction.json',
        'config.json',
        'segments.jsonl',
        'snapshot.json',
      ],
      leftOut: 0,
      problems: [],
      notices: ['Rules reference tiers without servers: [warm]'],
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
        { ...normal, dataSource: 'wiki', overshadowed: true },
      ],
    )
    await assert.rejects(exportSnapshot(source, target, options), /already exists/)
    const again = path.join(folder, 'exported-again')
    await exportSnapshot(source, again, options)
    assert.deepEqual(folderContents(again), folderContents(target))
  })

  it('with compaction supervisors is exported with their configurations', async () => {
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

  it('is exported with its placement, supervisors, users, unused segments, and counts on request', async () => {
    const id = 'wiki_2026-01-01T00:00:00.000Z_2026-01-02T00:00:00.000Z_2026-01-02T00:00:00.000Z_1'
    const perms = '/druid-ext/basic-security/authorization/db/perms'
    const role = {
      name: 'readers',
      permissions: [{ resource: { type: 'STATE', name: '.*' }, action: 'READ' }],
    }
    const source = await openHttp({
      url: await cluster({
        ...answers,
        '/druid/coordinator/v1/servers/a%3A1/segments': [],
        '/druid/coordinator/v1/servers/b%3A1/segments': [id],
        '/druid/coordinator/v1/rules/svc-import-any-datasource': [],
        '/druid/coordinator/v1/loadstatus': { wiki: 100, koala: 0, gone: 'NaN' },
        '/druid/coordinator/v1/datasources?simple': [
          { name: 'wiki', properties: { tiers: {}, segments: { count: 1 } } },
        ],
        // Only the spec of Druid 37 says that a supervisor is suspended.
        '/druid/indexer/v1/supervisor?full': [
          {
            id: 'autocompact__wiki',
            suspended: false,
            spec: { type: 'autocompact', suspended: true, spec: { dataSource: 'wiki' } },
          },
          { id: 'autocompact__koala', type: 'autocompact', suspended: false },
        ],
        '/druid-ext/basic-security/authentication/loadStatus': { db: true },
        '/druid-ext/basic-security/authentication/db/db/users': ['me', 'alice'],
        '/druid-ext/basic-security/authorization/loadStatus': { perms: true },
        [`${perms}/roles`]: ['readers'],
        [`${perms}/roles/readers?simplifyPermissions`]: role,
        [`${perms}/users`]: ['alice'],
        [`${perms}/users/alice`]: { name: 'alice', roles: ['readers'] },
        [`${perms}/groupMappings`]: ['ops'],
        [`${perms}/groupMappings/ops`]: { name: 'ops', groupPattern: '*', roles: ['readers'] },
        '/druid/coordinator/v1/metadata/datasources?includeUnused': ['old'],
        '/druid/coordinator/v1/metadata/datasources/old/unusedSegments': [
          {
            dataSegment: { ...payload, dataSource: 'old' },
            usedStatusLastUpdatedDate: '2026-02-01T00:00:00.000Z',
          },
        ],
      }),
    })
    const target = path.join(folder, 'exported-completely')
    await exportSnapshot(source, target, { ...options, complete: true, unused: true })
    const exported = openFolder(target)
    assert.deepEqual(await exported.restrictedPart('supervisors'), {
      value: [
        { id: 'autocompact__wiki', type: 'autocompact', suspended: true },
        { id: 'autocompact__koala', type: 'autocompact', suspended: false },
      ],
    })
    assert.deepEqual(await exported.restrictedPart('security'), {
      value: {
        authenticators: { db: ['alice', 'me'] },
        authorizers: {
          perms: {
            roles: { readers: role.permissions },
            users: { alice: ['readers'] },
            groupMappings: { ops: { groupPattern: '*', roles: ['readers'] } },
          },
        },
      },
    })
    assert.deepEqual(await exported.restrictedPart('counts'), {
      value: {
        datasourcesWithUsedSegments: ['koala', 'wiki'],
        servedSegments: { wiki: 1 },
        usedBytes: { 'a:1': 7, 'b:1': 7 },
        mayReadEveryDatasource: true,
      },
    })
    assert.equal(
      readFileSync(path.join(target, 'placement.jsonl'), 'utf8'),
      `{"server":"b:1","segments":["${id}"]}\n`,
    )
    assert.deepEqual(JSON.parse(readFileSync(path.join(target, 'unused-segments.jsonl'), 'utf8')), {
      dataSegment: { ...normal, dataSource: 'old' },
      usedStatusLastUpdatedDate: '2026-02-01T00:00:00.000Z',
    })
    const again = path.join(folder, 'exported-completely-again')
    await exportSnapshot(exported, again, { ...options, complete: true, unused: true })
    assert.deepEqual(folderContents(again), folderContents(target))
  })

  it('that refuses parts of it is exported without these parts, with the reason', async () => {
    const source = await openHttp({ url: await cluster(answers) })
    const { unseen } = (await source.restrictedPart('security')) as { unseen: string }
    assert.equal(unseen, '[/druid-ext/basic-security/authentication/loadStatus] returned status [404]')
    const target = path.join(folder, 'exported-partly')
    const { files } = await exportSnapshot(source, target, { ...options, complete: true })
    assert.ok(!files.includes('placement.jsonl') && !files.includes('counts.json'))
  })

  it('has its problems listed, the first ones with their location, or skipped', async () => {
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
          /^Found 37 unreadable parts in .*, so nothing was created\. Use --skip-bad .* --problems FILE .*\n/,
        )
        for (const problem of [
          /servers.json server \[4\]: Duplicate host \[b:1\]/,
          /servers.json server \[5\]: Invalid value \[nothing\] for \[maxSize\]/,
          /rules.json: .*loadSometimes/,
          /compaction.json: .*compactionTaskSlotRatio/,
          /compaction.json: .*compactionConfigs\[0\].dataSource/,
          /config.json: .*colour/,
          /Segment row \[2\]: Invalid value \[-1\] for \[size\]/,
          /\n {2}and 17 more$/,
        ])
          assert.match(message, problem)
        return true
      },
    )
    const written = readFileSync(problemsFile, 'utf8').split('\n')
    assert.equal(written.length, 37 + 1)
    assert.match(written.at(-2) ?? '', /^Segment row \[32\]: duplicate segment \[.*\]$/)
    assert.equal(existsSync(target), false)
    const result = await exportSnapshot(source, target, { ...options, skipBad: true })
    assert.deepEqual([result.segments, result.leftOut, result.problems.length], [1, 37, 21])
  })

  it('follows redirects to the leader, but only on the same host', async () => {
    const leader = await cluster(answers)
    const follower = await listen((request, response) => {
      response.writeHead(307, { location: `${leader}${request.url}` })
      response.end()
    })
    const source = await openHttp({ url: follower })
    assert.deepEqual(await source.document('servers'), servers)
    for (const location of ['http://elsewhere.example/druid', 'https://127.0.0.1:1/', 'http://[']) {
      const misleading = await listen((_request, response) => {
        response.writeHead(302, { location })
        response.end()
      })
      await assert.rejects(
        openHttp({ url: misleading, credentials: 'a:b' }),
        /redirects to .* sends credentials only to the original host/,
      )
    }
    const round = await listen((request, response) => {
      response.writeHead(302, { location: request.url })
      response.end()
    })
    await assert.rejects(openHttp({ url: round }), /redirects more than 5 times/)
  })

  it('is reported if it returns a page, rejects the login, closes the connection, or stops responding', async () => {
    const page = await listen((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/html' })
      response.end('<html>')
    })
    await assert.rejects(openHttp({ url: page }), /returned \[text\/html\]: expected JSON/)
    const closed = await listen((_request, response) => {
      response.writeHead(401, { 'content-type': 'application/json' })
      response.end('{}')
    })
    await assert.rejects(openHttp({ url: closed }), /status \[401\]: .* Use --user and --password-file/)
    const failing = await listen((_request, response) => {
      response.writeHead(500, { 'content-type': 'application/json' })
      response.end('{}')
    })
    await assert.rejects(openHttp({ url: failing }), /returned status \[500\]: expected \[200\]/)
    const silent = await listen(() => undefined)
    await assert.rejects(openHttp({ url: silent, timeoutMs: 50 }), /no data received for 50 ms/)
    const elsewhere = await listen((_request, response) => {
      response.writeHead(404)
      response.end()
    })
    await assert.rejects(
      openHttp({ url: elsewhere }),
      /has neither \/svc\/coordinator nor \/druid\/coordinator/,
    )
    const broken = await listen((request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      if (request.url?.includes('/segments')) {
        response.write(`[${JSON.stringify(payload)},{"dataSource":`, () => response.destroy())
      } else response.end(request.url?.includes('/servers') ? '[]' : '{}')
    })
    const target = path.join(folder, 'broken')
    const source = await openHttp({ url: broken })
    await assert.rejects(exportSnapshot(source, target, options), /after element \[1\]: /)
    assert.equal(existsSync(target), false)
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.startsWith('broken')),
      [],
    )
  })

  it('is reported if a segment does not end', async () => {
    const endless = await listen((request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      if (!request.url?.includes('/segments')) {
        response.end(request.url?.includes('/servers') ? '[]' : '{}')
        return
      }
      response.write(`[${JSON.stringify(payload)},{"dataSource":"`)
      const more = () => {
        while (!response.destroyed && response.write('x'.repeat(65_536)));
      }
      response.on('drain', more)
      more()
    })
    const target = path.join(folder, 'endless')
    const source = await openHttp({ url: endless })
    await assert.rejects(
      exportSnapshot(source, target, options),
      /after element \[1\]: an element is larger than 8388608 bytes/,
    )
    assert.equal(existsSync(target), false)
  })

  it('is reported if it stops responding in the middle, or the export is canceled', async () => {
    const slow = await listen((request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      if (request.url?.includes('/segments')) response.write(`[${JSON.stringify(payload)},`)
      else response.end(request.url?.includes('/servers') ? '[]' : '{}')
    })
    const target = path.join(folder, 'slow')
    const quickSource = await openHttp({ url: slow, timeoutMs: 1000 })
    await assert.rejects(
      exportSnapshot(quickSource, target, options),
      /after element \[1\]: no data received for 1000 ms/,
    )
    const controller = new AbortController()
    const { signal } = controller
    const source = await openHttp({ url: slow, signal })
    const watched: SnapshotSource = {
      ...source,
      segments: async function* () {
        for await (const row of source.segments()) {
          yield row
          controller.abort(new Error('canceled'))
        }
      },
    }
    await assert.rejects(exportSnapshot(watched, target, { ...options, signal }), /^Error: canceled/)
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.startsWith('slow')),
      [],
    )
  })

  it('must not be a URL with a path, or a folder without segments', async () => {
    await assert.rejects(openHttp({ url: 'http://a/b' }), /^Failure: Invalid URL/)
    await assert.rejects(openHttp({ url: 'http://a:b:c' }), /^Failure: Invalid URL/)
    await assert.rejects(openHttp({ url: 'http://me:sec@ret@a' }), (error: Error) => {
      assert.match(error.message, /^URL \[http:\/\/…@a\] contains credentials\. Use --user/)
      return true
    })
    assert.throws(() => openFolder('me:secret@a:9088'), /^Failure: Folder \[…@a:9088\] does not exist/)
    assert.throws(
      () => openFolder('cluster.example:9088'),
      /does not exist\. If you meant the URL of a cluster, add http/,
    )
    assert.throws(() => openFolder(folder), /has neither \[segments.jsonl\] nor \[segments.json\]/)
  })
})

describe('a source folder', () => {
  it('is rejected if a file was truncated, changed, or lost, and accepted with a notice without its manifest', async () => {
    const complete = path.join(folder, 'complete')
    const given: SnapshotSource = {
      name: 'given',
      check: async () => [],
      document: async (name) => (name === 'servers' ? [] : {}),
      restrictedPart: async () => ({ unseen: 'not given' }),
      placement: async () => ({ unseen: 'not given' }),
      unusedSegments: async () => ({ unseen: 'not given' }),
      segments: async function* () {
        for (let partitionNum = 0; partitionNum < 10; partitionNum++)
          yield {
            row: partitionNum + 1,
            value: { ...payload, shardSpec: { type: 'numbered', partitionNum, partitions: 10 } },
          }
      },
    }
    await exportSnapshot(given, complete, options)
    const damaged = path.join(folder, 'damaged')
    const file = (name: string) => path.join(damaged, name)
    const cutLines = () => {
      const lines = readFileSync(file('segments.jsonl'), 'utf8').split('\n')
      writeFileSync(file('segments.jsonl'), `${lines.slice(0, 6).join('\n')}\n`)
    }
    const changes: readonly [change: () => void, message: RegExp][] = [
      [cutLines, /\n {2}\[segments.jsonl\] is \[\d+\] bytes long: expected \[\d+\]$/],
      [() => rmSync(file('config.json')), /\n {2}\[config.json\] is unreadable: ENOENT/],
      [
        () =>
          writeFileSync(file('servers.json'), readFileSync(file('servers.json'), 'utf8').replace('\n', ' ')),
        /\n {2}\[servers.json\] was changed$/,
      ],
      [
        () => writeFileSync(file('snapshot.json'), '{"format":1,'),
        /snapshot.json\] is damaged or was written by an incompatible version/,
      ],
      [
        () => writeFileSync(file('snapshot.json'), '{"format":1,"files":{}}'),
        /\n {2}\[servers.json\] is not part of the export[\s\S]*\n {2}\[segments.jsonl\] is not part of the export$/,
      ],
    ]
    for (const [change, message] of changes) {
      cpSync(complete, damaged, { recursive: true })
      change()
      const target = path.join(folder, 'of-damaged')
      await assert.rejects(exportSnapshot(openFolder(damaged), target, options), {
        code: 'invalidInput',
        message,
      })
      assert.equal(existsSync(target), false)
      rmSync(damaged, { recursive: true })
    }
    cpSync(complete, damaged, { recursive: true })
    cutLines()
    rmSync(file('snapshot.json'))
    rmSync(file('config.json'))
    const { segments, notices } = await exportSnapshot(
      openFolder(damaged),
      path.join(folder, 'by-hand'),
      options,
    )
    assert.equal(segments, 6)
    assert.match(
      notices[0] ?? '',
      /has no \[snapshot.json\].*, so svc cannot check that the export is complete$/,
    )
    assert.match(notices[1] ?? '', /has no \[config.json\]: using the defaults$/)
    assert.equal(notices.length, 2)
    // Exports of earlier versions lack only the manifest.
    rmSync(path.join(complete, 'snapshot.json'))
    const earlier = await exportSnapshot(openFolder(complete), path.join(folder, 'earlier'), options)
    assert.deepEqual([earlier.segments, earlier.notices.length], [10, 1])
    for (const name of ['servers.json', 'segments.jsonl'])
      writeFileSync(path.join(complete, name), `\uFEFF${readFileSync(path.join(complete, name), 'utf8')}`)
    const marked = await exportSnapshot(openFolder(complete), path.join(folder, 'marked'), options)
    assert.equal(marked.segments, 10)
  })

  it('has notices if a cluster could not fully load it', async () => {
    const source = path.join(folder, 'source')
    mkdirSync(source)
    const file = (name: string, document: unknown) =>
      writeFileSync(path.join(source, name), JSON.stringify(document))
    file('servers.json', [
      { host: 'a:1', tier: 'hot', type: 'historical', maxSize: 15 },
      { host: 'b:1', tier: 'hot', type: 'historical', maxSize: 0 },
    ])
    file('rules.json', {
      wiki: [{ type: 'loadForever', tieredReplicants: { hot: 1, cold: 1 } }, { type: 'dropForever' }],
    })
    file('segments.json', [payload, { ...payload, version: 'v' }])
    const { notices } = await exportSnapshot(openFolder(source), path.join(folder, 'of-source'), options)
    assert.deepEqual(notices.slice(3), [
      'Rules reference tiers without servers: [cold]',
      'Servers with a maxSize of 0 load no segments: [b:1]',
      'Not enough capacity for all segments: 20 B needed, but the servers have only 15 B in total',
    ])
    file('segments.json', [])
    const nothing = await exportSnapshot(openFolder(source), path.join(folder, 'of-nothing'), options)
    assert.match(nothing.notices[3] ?? '', /lists no used segments/)
  })

  it('that lists segments both as used and as unused is exported with them as unused, with a notice', async () => {
    const source = path.join(folder, 'marked-meanwhile')
    mkdirSync(source)
    const file = (name: string, text: string) => writeFileSync(path.join(source, name), text)
    const day = (number: number, more: object = {}) => ({
      ...normal,
      interval: `2026-01-0${number}T00:00:00.000Z/2026-01-0${number + 1}T00:00:00.000Z`,
      ...more,
    })
    const lines = (rows: readonly object[]) => rows.map((row) => `${JSON.stringify(row)}\n`).join('')
    const unusedRow = (number: number) => ({
      dataSegment: day(number),
      usedStatusLastUpdatedDate: '2026-02-01T00:00:00.000Z',
    })
    file('servers.json', JSON.stringify([{ host: 'a:1', tier: 'hot', type: 'historical', maxSize: 100 }]))
    file('rules.json', '{}')
    file('segments.jsonl', lines([day(1), day(2), day(3, { overshadowed: true }), day(4)]))
    file('unused-segments.jsonl', lines([unusedRow(2), unusedRow(3), unusedRow(5)]))
    const target = path.join(folder, 'exported-meanwhile')
    const everything = { ...options, complete: true, unused: true }
    const { segments, overshadowed, sizeBytes, notices } = await exportSnapshot(
      openFolder(source),
      target,
      everything,
    )
    assert.deepEqual({ segments, overshadowed, sizeBytes }, { segments: 2, overshadowed: 0, sizeBytes: 20 })
    assert.ok(
      notices.some((notice) =>
        /lists 2 segments both as used and as unused: they count as unused/.test(notice),
      ),
      notices.join('\n'),
    )
    const written = readFileSync(path.join(target, 'segments.jsonl'), 'utf8')
    assert.equal(written, lines([day(1), day(4)]))
    assert.equal(
      readFileSync(path.join(target, 'unused-segments.jsonl'), 'utf8'),
      lines([unusedRow(2), unusedRow(3), unusedRow(5)]),
    )
    const again = await exportSnapshot(openFolder(target), path.join(folder, 'meanwhile-again'), everything)
    assert.ok(!again.notices.some((notice) => /as unused/.test(notice)))

    file('unused-segments.jsonl', lines([unusedRow(5), unusedRow(2), unusedRow(5)]))
    await assert.rejects(
      exportSnapshot(openFolder(source), path.join(folder, 'twice'), everything),
      /Row \[3\] of the list of unused segments: duplicate segment \[wiki_2026-01-05/,
    )
  })

  it('gives the same files when its export is exported again, whatever its names and values are', async () => {
    const odd = path.join(folder, 'odd')
    mkdirSync(odd)
    const datasources = [
      'a b',
      ' a ',
      'a%2Fb',
      'größe',
      '"q"',
      'a\\b',
      '__proto__',
      '10',
      '2',
      'a,b',
      'x\u2028x',
    ]
    // No data can be ingested under the other names.
    const names = ['a/b', '\u{1F600}', ...datasources]
    const file = (name: string, document: unknown) =>
      writeFileSync(path.join(odd, name), JSON.stringify(document))
    file(
      'servers.json',
      names
        .filter((name) => name !== '__proto__')
        .map((name) => ({ host: name, tier: name, type: 'historical', priority: -5, maxSize: 2 ** 53 - 1 })),
    )
    const forever = '-146136543-09-08T08:23:32.096Z/146140482-04-24T15:36:27.903Z'
    const ofAll = [
      { type: 'loadByInterval', interval: forever, tieredReplicants: { 'a/b': 1, 'x\u2028x': 2 } },
    ]
    file('rules.json', Object.fromEntries(names.map((name) => [name, ofAll])))
    file('compaction.json', {
      compactionConfigs: datasources.map((dataSource) => ({
        dataSource,
        taskContext: { 'ü/%': '\u2028' },
      })),
      compactionTaskSlotRatio: 0.30000000000000004,
    })
    file('config.json', { decommissioningNodes: names.slice(0, 2) })
    file('segments.json', [
      ...datasources.flatMap((dataSource) => [
        { ...payload, dataSource },
        { ...payload, dataSource, version: 'v ü/%' },
        { ...payload, dataSource, interval: forever, lastCompactionState: { '\u2029': ['\u2028', 1e300] } },
      ]),
      { ...payload, interval: '-0500-01-01T00:00:00.000Z/0001-01-01T00:00:00.000Z' },
      { ...payload, interval: '2026-01-01T00:00:00.001Z/2026-01-01T00:00:00.002Z', overshadowed: true },
      { ...payload, interval: '2026-01-01T00:00:00+05:30/P1M', size: 2 ** 53 - 1 },
    ])
    const [first, second] = [path.join(folder, 'odd-1'), path.join(folder, 'odd-2')]
    const { segments } = await exportSnapshot(openFolder(odd), first, options)
    assert.equal(segments, 3 * datasources.length + 3)
    assert.deepEqual((await exportSnapshot(openFolder(first), second, options)).notices, [])
    assert.deepEqual(folderContents(second), folderContents(first))
    const rows = await all(openFolder(first).segments())
    const found = new Set(rows.map(({ value }) => (value as { dataSource: string }).dataSource))
    assert.deepEqual([...found].sort(), [...datasources, 'wiki'].sort())
  })

  it('can contain a list, or lines, some of which may be invalid', async () => {
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
      { row: 3, problem: 'Invalid JSON' },
    ])
    await assert.rejects(openFolder(list).document('rules'), /has no file \[rules.json\]/)
    writeFileSync(path.join(list, 'rules.json'), 'oops')
    await assert.rejects(
      openFolder(list).document('rules'),
      /^Failure: Invalid file \[.*rules.json\]: expected JSON/,
    )
  })
})
