// `./svc import` creates a cluster of virtual servers and segments from another cluster. Its servers load the
// segments that the rules require, previews cover all imported segments, and its own export equals the files
// that it was imported from. Nothing is created from a source that cannot be read completely.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { after, describe, test } from 'node:test'
import { type Cluster, pickPortOffset, startCluster } from '@svc/cli/cluster'
import { createHttpClient, type HttpClient, waitUntil } from '@svc/shared/testing'
import { runSvc, svcCommand } from './support/svc-command.ts'
import { newTestFolder, removeTestFolder } from './support/test-folder.ts'

const folder = newTestFolder()
after(() => removeTestFolder(folder))
const at = (name: string) => path.join(folder, name)

const dayMs = 86_400_000
const days = 40
const firstDay = Date.parse('2026-01-01T00:00:00Z')
const dateOf = (day: number) => new Date(firstDay + day * dayMs).toISOString()
const state = { partitionsSpec: { type: 'range', partitionDimensions: ['channel'], targetRowsPerSegment: 9 } }

/**
 * Answers of a cluster from another implementation, with kinds of partitions, fields, and servers that svc
 * does not have.
 */
function* segmentsOf(dataSource: string, shardSpec: (partitionNum: number) => object) {
  for (let day = days - 1; day >= 0; day--) {
    for (let partitionNum = 0; partitionNum < 2; partitionNum++) {
      yield {
        overshadowed: false,
        replicationFactor: 2,
        dataSource,
        interval: `${dateOf(day)}/${dateOf(day + 1)}`,
        version: '2026-06-01T00:00:00.000Z',
        loadSpec: { type: 's3_zip', bucket: 'far-away', key: `${dataSource}/${day}` },
        dimensions: 'channel,user',
        metrics: 'added',
        shardSpec: shardSpec(partitionNum),
        ...(day < 10 ? { lastCompactionState: state } : {}),
        binaryVersion: 9,
        size: 1_000_000 + day,
        numRows: 100,
        identifier: 'ignored',
      }
    }
  }
}
const wikipedia = [
  ...segmentsOf('wikipedia', (partitionNum) => ({
    type: 'range',
    dimensions: ['channel'],
    partitionNum,
    numCorePartitions: 2,
  })),
]
const koalas = [
  ...segmentsOf('koalas', (partitionNum) => ({ type: 'hashed', partitionNum, partitions: 2, numBuckets: 2 })),
]
const segments = [...wikipedia, ...koalas]
/** The segments that the first rule applies to. */
const wikipediaFirst = wikipedia.filter(({ interval }) => interval < dateOf(10))
const bytesOf = (...lists: (readonly { readonly size: number }[])[]): number =>
  lists.flat().reduce((sum, { size }) => sum + size, 0)
const documents: Record<string, unknown> = {
  'servers?simple': [
    ...['10.0.0.1:8083', '10.0.0.2:8083'].map((host) => ({
      host,
      tier: 'hot',
      type: 'historical',
      priority: 10,
      currSize: 5,
      maxSize: 300_000_000,
    })),
    {
      host: '10.0.0.3:8083',
      tier: '_default_tier',
      type: 'historical',
      priority: 0,
      currSize: 0,
      maxSize: 900_000_000,
    },
    { host: '10.0.0.4:8082', tier: '_default_tier', type: 'broker', priority: 0, currSize: 0, maxSize: 1 },
  ],
  rules: {
    _default: [{ type: 'loadForever', tieredReplicants: { _default_tier: 1 } }],
    wikipedia: [
      { type: 'loadByInterval', interval: `${dateOf(0)}/${dateOf(10)}`, tieredReplicants: { hot: 2 } },
      { type: 'loadForever', tieredReplicants: { hot: 1, _default_tier: 1 } },
    ],
  },
  config: { maxSegmentsToMove: 7, debugDimensions: null, smartSegmentLoading: true },
  'config/compaction': {
    compactionConfigs: [
      {
        dataSource: 'wikipedia',
        skipOffsetFromLatest: 'P5D',
        tuningConfig: { partitionsSpec: state.partitionsSpec },
      },
    ],
    compactionTaskSlotRatio: 0.5,
    maxCompactionTaskSlots: 9,
  },
  'metadata/segments?includeOvershadowedStatus': segments,
}

const source = createServer((request, response) => {
  const [, path = ''] = request.url?.split('/druid/coordinator/v1/') ?? []
  const login = request.headers.authorization === `Basic ${Buffer.from('reader:secret').toString('base64')}`
  const answer = documents[path]
  response.writeHead(request.url?.startsWith('/druid/') ? (login ? (answer ? 200 : 404) : 401) : 404, {
    'content-type': 'application/json',
  })
  response.end(JSON.stringify(answer ?? {}))
})
await new Promise<void>((resolve) => source.listen(0, '127.0.0.1', resolve))
after(() => {
  source.closeAllConnections()
  source.close()
})
const sourceUrl = `http://127.0.0.1:${(source.address() as AddressInfo).port}`
const passwordFile = at('password')
writeFileSync(passwordFile, 'secret\n')
const login = ['--user', 'reader', '--password-file', passwordFile]

const snapshotFiles = [
  'compaction.json',
  'config.json',
  'rules.json',
  'segments.jsonl',
  'servers.json',
  'snapshot.json',
]
const textOf = (name: string, file: string) => readFileSync(path.join(at(name), file), 'utf8')

async function withCluster(home: string, work: (cluster: Cluster, router: HttpClient) => Promise<void>) {
  const cluster = await startCluster({
    home: at(home),
    portOffset: await pickPortOffset(),
    profile: 'secure',
    set: ['coordinator.svc.coordinator.period=PT0.5S'],
  })
  const router = createHttpClient(cluster.routerUrl, {
    trusted: cluster.trusted,
    credentials: `admin:${cluster.adminPassword}`,
  })
  try {
    await work(cluster, router)
  } finally {
    router.close()
    await cluster.stop()
  }
}

describe('an import', () => {
  test('creates a home from the answers of another implementation', async () => {
    const { status, stdout, stderr } = await runSvc(
      'import',
      '--from',
      sourceUrl,
      ...login,
      '--home',
      at('home'),
      '--json',
    )
    assert.equal(status, 0, stderr)
    assert.deepEqual(JSON.parse(stdout), {
      home: at('home'),
      from: sourceUrl,
      segments: segments.length,
      overshadowed: 0,
      servers: 3,
      tiers: ['_default_tier', 'hot'],
      rules: 2,
      compactionConfigs: 1,
      leftOut: 0,
      problems: [],
      notices: [],
    })
    assert.match(stderr, /Wrote 160 of 160 segments/)
  })

  test('runs a cluster whose servers load the segments that the rules require, and whose previews count all segments', async () => {
    await withCluster('home', async (cluster, router) => {
      await waitUntil(
        'everything that the rules require is loaded',
        () => router.get<Record<string, { currSize: number }>>('/svc/coordinator/v1/tiers?simple'),
        (tiers) =>
          tiers.hot?.currSize === bytesOf(wikipedia, wikipediaFirst) &&
          tiers._default_tier?.currSize === bytesOf(wikipedia, koalas) - bytesOf(wikipediaFirst),
      )
      const servers = await router.get<{ host: string; type: string; priority: number }[]>(
        '/svc/coordinator/v1/servers?simple',
      )
      assert.deepEqual(
        servers
          .filter(({ type }) => type === 'historical')
          .map(({ host, priority }) => [host, priority])
          .sort(),
        [
          ['10.0.0.1:8083', 10],
          ['10.0.0.2:8083', 10],
          ['10.0.0.3:8083', 0],
        ],
      )
      assert.equal(
        (await router.get<{ maxSegmentsToMove: number }>('/svc/coordinator/v1/config')).maxSegmentsToMove,
        7,
      )

      const [imported] = await router.get<string[]>(
        '/svc/coordinator/v1/metadata/datasources/koalas/segments',
      )
      const explained = await runSvc('explain', 'segment', imported!, '--json', '--home', at('home'))
      assert.equal(explained.status, 0, explained.stderr)
      const { state, servers: found } = JSON.parse(explained.stdout) as {
        state: string
        servers: { server: string; state: string }[]
      }
      assert.equal(state, 'loaded')
      assert.ok(found.some((one) => one.state === 'serves' && /^10\.0\.0\.\d:8083$/.test(one.server)))

      const names = () => router.get<string[]>('/svc/coordinator/v1/servers')
      const faulty = '10.0.0.2:8083'
      const cut = await runSvc('fault', 'cut', faulty, '--home', at('home'))
      assert.equal(cut.status, 0, cut.stderr)
      const shown = await runSvc('status', '--home', at('home'))
      assert.match(shown.stdout, /^10\.0\.0\.2:8083: fault: cut until it is cleared$/m)
      await waitUntil('the leader considers only this server dead', names, (known) => !known.includes(faulty))
      assert.ok((await names()).includes('10.0.0.1:8083'))
      const cleared = await runSvc('fault', 'clear', '--home', at('home'))
      assert.equal(cleared.status, 0, cleared.stderr)
      await waitUntil('the server is back', names, (known) => known.includes(faulty))

      const rules = at('rules.json')
      writeFileSync(
        rules,
        JSON.stringify([
          { type: 'dropByInterval', interval: `${dateOf(0)}/${dateOf(30)}` },
          { type: 'loadForever', tieredReplicants: { _default_tier: 1 } },
        ]),
      )
      const preview = await runSvc(
        'rules',
        'preview',
        rules,
        '--datasource',
        'wikipedia',
        '--json',
        '--home',
        at('home'),
      )
      assert.equal(preview.status, 0, preview.stderr)
      const { summary } = JSON.parse(preview.stdout) as {
        summary: { datasources: Record<string, { markedUnused: { segments: number } }> }
      }
      assert.equal(summary.datasources.wikipedia?.markedUnused.segments, 60)

      const own = await runSvc('export', at('of-home'), '--home', at('home'))
      assert.equal(own.status, 0, own.stderr)
      writeFileSync(at('admin'), `${cluster.adminPassword}`)
      writeFileSync(at('trusted.pem'), `${cluster.trusted}`)
      const again = await runSvc(
        'import',
        '--from',
        cluster.routerUrl,
        '--user',
        'admin',
        '--password-file',
        at('admin'),
        '--trust',
        at('trusted.pem'),
        '--home',
        at('second'),
      )
      assert.equal(again.status, 0, again.stderr)
      assert.match(
        again.stdout,
        /160 segments \(0 overshadowed\), 3 virtual servers \(tiers: _default_tier, hot\)/,
      )
      const untrusting = await runSvc('import', '--from', cluster.routerUrl, ...login, '--home', at('none'))
      assert.equal(untrusting.status, 1)
      assert.match(untrusting.stderr, /certificate.*\. Use --trust to specify the CA certificates to trust/)
    })
  })

  test('exports the same files that it was imported from, and an import of the export does too', async () => {
    const first = await runSvc('export', at('of-source'), '--from', sourceUrl, ...login)
    assert.equal(first.status, 0, first.stderr)
    await withCluster('second', async () => {
      const second = await runSvc('export', at('of-second'), '--home', at('second'))
      assert.equal(second.status, 0, second.stderr)
      const kept = await runSvc('backup', at('kept'), '--home', at('second'))
      assert.equal(kept.status, 0, kept.stderr)
    })
    for (const name of ['of-home', 'of-second']) {
      assert.deepEqual(readdirSync(at(name)).sort(), snapshotFiles)
      for (const file of snapshotFiles)
        assert.ok(textOf(name, file) === textOf('of-source', file), `${name}/${file}`)
    }
  })

  test('keeps its virtual servers in a backup and restore', async () => {
    const { status, stderr } = await runSvc('restore', at('kept'), '--home', at('restored'))
    assert.equal(status, 0, stderr)
    const servers = 'virtual-servers.json'
    assert.equal(textOf('restored', servers), textOf('second', servers))
  })

  test('does not add servers with real data', async () => {
    const { status, stderr } = await runSvc('up', '--home', at('home'), '--historicals', 'hot=1', '--detach')
    assert.equal(status, 2)
    assert.match(stderr, /Option --historicals cannot be used with/)
  })
})

describe('nothing is created', () => {
  const nothingLeft = () =>
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.startsWith('none')),
      [],
    )

  test('from a hundred thousand invalid rows', async () => {
    const broken = at('broken')
    mkdirSync(broken)
    writeFileSync(path.join(broken, 'servers.json'), JSON.stringify(documents['servers?simple']))
    writeFileSync(path.join(broken, 'rules.json'), '{}')
    const rows = Array.from(
      { length: 100_000 },
      (_, row) => `{"dataSource":"a","size":${row},"interval":"never"}`,
    )
    writeFileSync(
      path.join(broken, 'segments.jsonl'),
      [...rows, JSON.stringify(segments[0]), 'not JSON'].join('\n'),
    )
    const problems = at('problems')
    const args = ['--from', broken, '--home', at('none'), '--problems', problems]
    const { status, stderr } = await runSvc('import', ...args)
    assert.equal(status, 2)
    const lines = readFileSync(problems, 'utf8').trimEnd().split('\n')
    assert.equal(lines.length, 100_001)
    assert.equal(lines.at(-1), 'Segment row [100002]: Invalid JSON')
    assert.match(stderr, /Found 100,001 unreadable parts in \[.*broken\], so nothing was created/)
    assert.match(stderr, /Segment row \[1\]: .*\[never\]/)
    assert.match(stderr, /and 99981 more/)
    assert.ok(stderr.split('\n').length < 40)
    nothingLeft()
    const skipped = await runSvc('import', '--from', broken, '--skip-bad', '--home', at('skipped'), '--json')
    assert.equal(skipped.status, 0, skipped.stderr)
    const { segments: kept, leftOut } = JSON.parse(skipped.stdout) as { segments: number; leftOut: number }
    assert.deepEqual([kept, leftOut], [1, 100_001])
    const report = await runSvc('import-report', '--home', at('skipped'))
    assert.match(report.stdout, /Left out because unreadable:\n {2}Segment row \[1\]: .*\[never\].*\n/)
    assert.match(report.stdout, /\n {2}and 99981 more\n/)
  })

  const refused: readonly [name: string, args: readonly string[], status: number, expected: RegExp][] = [
    ['without a source', [], 2, /required option '--from <source>'/],
    ['from a folder without segments', ['--from', folder], 2, /has neither \[segments.jsonl\] nor/],
    [
      'with a wrong password',
      ['--from', sourceUrl, '--user', 'reader:wrong'],
      4,
      /status \[401\]: .* Use --user/,
    ],
    [
      'with a user without a password',
      ['--from', sourceUrl, '--user', 'reader'],
      2,
      /--user has no password/,
    ],
    [
      'with a password without a user',
      ['--from', sourceUrl, '--password-file', passwordFile],
      2,
      /requires a --user without a password/,
    ],
    [
      'with an invalid speed',
      ['--from', sourceUrl, ...login, '--load-bytes-per-second', 'fast'],
      2,
      /Invalid value \[fast\] for \[--load-bytes-per-second\]: expected a size/,
    ],
    ['from a server that is down', ['--from', 'http://127.0.0.1:1'], 3, /Failed to read .*ECONNREFUSED/],
  ]
  for (const [name, args, status, message] of refused) {
    test(name, async () => {
      const result = await runSvc('import', ...args, '--home', path.join(at('none'), 'of', 'these'))
      assert.equal(result.status, status, result.stderr)
      assert.match(result.stderr, message)
      nothingLeft()
    })
  }

  test('at a home that already exists', async () => {
    const { status, stderr } = await runSvc('import', '--from', sourceUrl, ...login, '--home', at('home'))
    assert.equal(status, 2)
    assert.match(stderr, /already exists\. Choose another folder/)
  })

  test('when Ctrl-C interrupts an endless source', async () => {
    const endless = createServer((request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      if (request.url?.includes('metadata')) response.write(`[${JSON.stringify(segments[0])},`)
      else response.end(request.url?.includes('servers') ? '[]' : '{}')
    })
    await new Promise<void>((resolve) => endless.listen(0, '127.0.0.1', resolve))
    try {
      const url = `http://127.0.0.1:${(endless.address() as AddressInfo).port}`
      const child = execFile(svcCommand, ['import', '--from', url, '--home', at('none')])
      const message: string[] = []
      child.stderr?.on('data', (text: string) => message.push(text))
      const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
      await waitUntil(
        'the import is reading',
        async () => readdirSync(folder),
        (names) =>
          names.some((name) => existsSync(path.join(folder, name, 'tasks/snapshot/segments.arriving'))),
      )
      child.kill('SIGINT')
      assert.equal(await ended, 130)
      assert.match(message.join(''), /Interrupted by SIGINT/)
      nothingLeft()
    } finally {
      endless.closeAllConnections()
      endless.close()
    }
  })
})
