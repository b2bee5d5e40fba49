import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { after, describe, it } from 'node:test'
import { temporaryFolder } from '@svc/shared/testing'
import { exportSnapshot, openFolder, openHttp, readSegmentRow, type SegmentRow } from './index.ts'

const payload = {
  dataSource: 'wiki',
  interval: '2026-01-01/2026-01-02',
  version: '2026-01-02T00:00:00.000Z',
  shardSpec: { type: 'numbered', partitionNum: 1, partitions: 2 },
  size: 10,
  totalRows: 3,
}
const never = new AbortController().signal
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
  ]
  for (const [name, change, found] of good) {
    it(`${name} is read`, () => {
      const read = readSegmentRow({ ...payload, ...change })
      assert.ok('segment' in read, JSON.stringify(read))
      assert.partialDeepStrictEqual(read.segment, { dataSource: 'wiki', sizeBytes: 10, ...found })
    })
  }

  const bad: readonly [value: unknown, told: RegExp][] = [
    [7, /is \[7\], allowed is a JSON object/],
    [null, /is \[null\]/],
    [[], /is \[\[\]\]/],
    [{ ...payload, dataSource: ' ' }, /field \[dataSource\]/],
    [{ ...payload, interval: 'yesterday' }, /field \[interval\]/],
    [{ ...payload, interval: 3 }, /field \[interval\]/],
    [{ ...payload, version: '' }, /field \[version\]/],
    [{ ...payload, size: -1 }, /field \[size\] has value \[-1\]/],
    [{ ...payload, size: '10' }, /field \[size\]/],
    [{ ...payload, totalRows: 0.5 }, /field \[totalRows\]/],
    [
      { ...payload, shardSpec: { type: 'numbered_overwrite', partitionNum: 32768 } },
      /field \[shardSpec.type\]/,
    ],
    [{ ...payload, shardSpec: { type: 'numbered', partitionNum: -3 } }, /field \[shardSpec.partitionNum\]/],
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
  it('is found under either word, and exported whole', async () => {
    const answers: Record<string, unknown> = {
      '/druid/coordinator/v1/rules': { _default: [{ type: 'loadForever' }] },
      '/druid/coordinator/v1/servers?simple': [{ host: 'a:1', tier: 'hot', type: 'historical', maxSize: 5 }],
      '/druid/coordinator/v1/config': { maxSegmentsToMove: 5 },
      '/druid/coordinator/v1/metadata/segments': [payload, { ...payload, dataSource: 'koala' }],
    }
    const url = await listen((request, response) => {
      const answer = answers[request.url ?? '']
      response.writeHead(answer ? 200 : 404, { 'content-type': 'application/json' })
      response.end(JSON.stringify(answer ?? {}))
    })
    const target = path.join(folder, 'exported')
    const result = await exportSnapshot(await openHttp({ url }), target, () => undefined, never)
    assert.deepEqual(result, {
      folder: target,
      segments: 2,
      documents: ['servers.json', 'rules.json', 'config.json', 'segments.jsonl'],
    })
    const source = openFolder(target)
    assert.deepEqual(await source.document('rules'), answers['/druid/coordinator/v1/rules'])
    assert.equal(await source.document('compaction'), undefined)
    assert.deepEqual(
      (await all(source.segments())).map(({ row, value }) => [row, (value as typeof payload).dataSource]),
      [
        [1, 'wiki'],
        [2, 'koala'],
      ],
    )
    await assert.rejects(
      exportSnapshot(source, target, () => undefined, never),
      /exists already/,
    )
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
    await assert.rejects(openHttp({ url: closed }), /status \[401\]: give --user/)
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
      if (request.url?.endsWith('/segments')) {
        response.write(`[${JSON.stringify(payload)},{"dataSource":`, () => response.destroy())
      } else response.end('{}')
    })
    const target = path.join(folder, 'broken')
    const source = await openHttp({ url: broken })
    await assert.rejects(
      exportSnapshot(source, target, () => undefined, never),
      /break off after \[1\]/,
    )
    assert.equal(existsSync(target), false)
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.startsWith('broken')),
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
