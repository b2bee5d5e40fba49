import assert from 'node:assert/strict'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import { waitUntil } from '../testing/index.ts'
import type { HttpInputLimits } from './index.ts'
import { temporaryFolder, testEngine } from './test-engine.ts'
import { inlineText, openBench } from './test-task.ts'

const bench = await openBench()
const outside = temporaryFolder()
const csv = { type: 'csv', findColumnsFromHeader: true }
const csvText = (...values: string[]): string =>
  `t,a\n${values.map((value) => `2026-01-01,${value}\n`).join('')}`

function folder(name: string, files: Record<string, string | Buffer>): string {
  const path = join(bench.inputFolder, name)
  mkdirSync(path)
  for (const [file, content] of Object.entries(files)) {
    mkdirSync(join(path, file, '..'), { recursive: true })
    writeFileSync(join(path, file), content)
  }
  return path
}

async function values(
  inputSource: Record<string, unknown>,
  inputFormat: Record<string, unknown> = csv,
  httpLimits: Partial<HttpInputLimits> = {},
) {
  const hosts = typeof inputSource.uris === 'object' ? allowedHosts : []
  const result = await bench.run({ inputSource, inputFormat }, { allowedHosts: hosts, httpLimits })
  if (result.segments.length === 0) return []
  return (await bench.rows(result, 'a', 'ORDER BY a')).map((row) => row.a)
}

const local = (baseDir: string, filter: string) => ({ type: 'local', baseDir, filter })

describe('local files', () => {
  it('are found by name, including in subfolders', async () => {
    const path = folder('found', {
      'a.csv': csvText('x'),
      'deep/er/b.csv': csvText('y'),
      'c.txt': csvText('z'),
    })
    assert.deepEqual(await values(local(path, '*.csv')), ['x', 'y'])
    assert.deepEqual(await values(local(path, '?.*')), ['x', 'y', 'z'])
    assert.deepEqual(await values({ type: 'local', files: [join(path, 'c.txt'), join(path, 'a.csv')] }), [
      'x',
      'z',
    ])
  })

  it('are read once even if listed twice', async () => {
    const path = folder('twice', { 'a.csv': csvText('x') })
    assert.deepEqual(await values({ ...local(path, '*'), files: [join(path, 'a.csv')] }), ['x'])
  })

  it('may have names with special characters', async () => {
    const path = folder('odd', {
      'a[1].csv': csvText('x'),
      'a1.csv': csvText('other'),
      "it's * {b}?.csv": csvText('y'),
      'day=7/c.csv': csvText('z'),
    })
    assert.deepEqual(await values({ type: 'local', files: [join(path, 'a[1].csv')] }), ['x'])
    assert.deepEqual(await values({ type: 'local', files: [join(path, "it's * {b}?.csv")] }), ['y'])
    const result = await bench.run({ inputSource: local(join(path, 'day=7'), '*'), inputFormat: csv })
    assert.deepEqual(result.segments[0]?.dimensions, ['a'])
  })

  it('may be compressed', async () => {
    const path = folder('compressed', {
      'a.csv.gz': gzipSync(csvText('x')),
      'b.csv.zst': zstdCompressSync(csvText('y')),
    })
    assert.deepEqual(await values(local(path, '*')), ['x', 'y'])
  })

  it('may be links to files in the allowed folders', async () => {
    const path = folder('links', { 'real/a.csv': csvText('x') })
    symlinkSync(join(path, 'real', 'a.csv'), join(path, 'b.csv'))
    assert.deepEqual(await values({ type: 'local', files: [join(path, 'b.csv')] }), ['x'])
  })

  it('must not be links to files outside the allowed folders', async () => {
    writeFileSync(join(outside, 'secret.csv'), csvText('secret'))
    const path = folder('escape', { 'a.csv': csvText('x') })
    symlinkSync(join(outside, 'secret.csv'), join(path, 'b.csv'))
    symlinkSync(outside, join(path, 'folder'))
    const expected = {
      code: 'invalidInput',
      message:
        /^Invalid value \[.*\] for \[.*\]: expected a path whose target is in a folder listed in \[svc\.ingestion\.local\.allowedRoots\]$/,
    }
    await assert.rejects(values({ type: 'local', files: [join(path, 'b.csv')] }), expected)
    await assert.rejects(values({ type: 'local', files: [join(path, 'folder', 'secret.csv')] }), expected)
    await assert.rejects(values(local(join(path, 'folder'), '*')), expected)
    await assert.rejects(values(local(path, '*.csv')), expected)
    // Links to folders are not followed.
    assert.deepEqual(await values(local(path, 'a*')), ['x'])
  })

  it('are rejected if they do not exist or are not regular files', async () => {
    const path = folder('missing', { 'a.csv': csvText('x') })
    await assert.rejects(values(local(path, '*.json')), {
      message: `Invalid value [*.json] for [spec.ioConfig.inputSource.filter]: expected a pattern that matches a file in folder [${path}]`,
    })
    await assert.rejects(values({ type: 'local', files: [join(path, 'b.csv')] }), {
      message: `Invalid value [${path}/b.csv] for [spec.ioConfig.inputSource.files[0]]: expected a readable path, but got error [ENOENT]`,
    })
    await assert.rejects(values({ type: 'local', files: [path] }), {
      message: `Invalid value [${path}] for [spec.ioConfig.inputSource.files[0]]: expected a regular file`,
    })
  })
})

describe('CSV', () => {
  const cases: { name: string; text: string; format?: Record<string, unknown>; expect: unknown[] }[] = [
    {
      name: 'quotes, commas, and line breaks',
      text: 't,a\n2026-01-01,"x, ""y""\nz"\n',
      expect: ['x, "y"\nz'],
    },
    { name: 'a byte order mark', text: '\uFEFFt,a\n2026-01-01,x\n', expect: ['x'] },
    { name: 'Windows line breaks', text: 't,a\r\n2026-01-01,x\r\n2026-01-01,y\r\n', expect: ['x', 'y'] },
    { name: 'no line break at the end', text: 't,a\n2026-01-01,x', expect: ['x'] },
    { name: 'empty lines', text: 't,a\n\n2026-01-01,x\n\n2026-01-01,y\n\n', expect: ['x', 'y'] },
    {
      name: 'lines before the header',
      text: 'made by "someone\n\nt,a\n2026-01-01,x\n',
      format: { ...csv, skipHeaderRows: 2 },
      expect: ['x'],
    },
    {
      name: 'column names from the task',
      text: '2026-01-01,x\n',
      format: { type: 'csv', columns: ['t', 'a'] },
      expect: ['x'],
    },
    {
      name: 'column names from the task and a header to skip',
      text: 'when,what\n2026-01-01,x\n',
      format: { type: 'csv', columns: ['t', 'a'], skipHeaderRows: 1 },
      expect: ['x'],
    },
    {
      name: 'semicolons',
      text: 't;a\n2026-01-01;x,y\n',
      format: { ...csv, delimiter: ';' },
      expect: ['x,y'],
    },
    {
      name: 'tabs and quotes without meaning',
      text: 't\ta\n2026-01-01\t"x\n',
      format: { type: 'tsv', findColumnsFromHeader: true },
      expect: ['"x'],
    },
    { name: 'empty values', text: 't,a\n2026-01-01,\n2026-01-01,""\n', expect: [null, null] },
  ]
  for (const { name, text, format, expect } of cases) {
    it(`can have ${name}`, async () => assert.deepEqual(await values(inlineText(text), format), expect))
  }

  it('can have different columns per file, in any order', async () => {
    const path = folder('headers', {
      '1.csv': 't,a\n2026-01-01,x\n',
      '2.csv': 'b,a,t\n5,y,2026-01-01\n',
      '3.csv': 't,b\n2026-01-01,6\n',
      '4.csv': '',
    })
    const result = await bench.run({ inputSource: local(path, '*.csv'), inputFormat: csv })
    assert.deepEqual(await bench.rows(result, 'a, b', 'ORDER BY a, b'), [
      { a: 'x', b: null },
      { a: 'y', b: '5' },
      { a: null, b: '6' },
    ])
  })

  it('reports an invalid line with its file', async () => {
    const path = folder('ragged', { '1.csv': csvText('x'), '2.csv': 'a,t\nx,2026-01-01\ny\n' })
    await assert.rejects(values(local(path, '*.csv')), {
      message: /: Invalid line \[3\] of file \[2\.csv\]: /,
    })
  })

  it('must have a valid header', async () => {
    await assert.rejects(values(inlineText('t,a,a\n2026-01-01,x,y\n')), {
      message: 'The header line of file [inline data] contains column [a] twice',
    })
    await assert.rejects(values(inlineText(`t,"a\n${'x'.repeat(2_000_000)}`)), {
      message: 'The header line of file [inline data] does not end within [1048576] bytes',
    })
    const gaps = await bench.run({ inputSource: inlineText('t,,a\n2026-01-01,x,y\n'), inputFormat: csv })
    assert.deepEqual(gaps.segments[0]?.dimensions, ['column_2', 'a'])
  })
})

describe('Parquet', () => {
  const parquet = { type: 'parquet' }

  it('keeps numbers and booleans, and converts the rest to strings', async () => {
    const path = folder('parquet', {})
    const engine = await testEngine(path)
    await engine.run(
      `COPY (SELECT TIMESTAMP '2026-01-01 12:00:00' AS t, 5::TINYINT AS small, 1.5::DECIMAL(10, 2) AS price, true AS flag,
         18446744073709551615::UBIGINT AS huge, DATE '2026-02-02' AS day, [1, 2] AS list, {'x': 1} AS nested, 'a' AS text)
       TO '${path}/a.parquet'`,
    )
    const result = await bench.run({ inputSource: local(path, '*'), inputFormat: parquet })
    assert.deepEqual(await bench.rows(result, '* EXCLUDE (__time), typeof(small) AS s, typeof(price) AS p'), [
      {
        small: '5',
        price: 1.5,
        flag: true,
        huge: '18446744073709551615',
        day: '2026-02-02',
        list: '[1,2]',
        nested: '{"x":1}',
        text: 'a',
        s: 'BIGINT',
        p: 'DOUBLE',
      },
    ])
  })

  it('can have different columns per file', async () => {
    const path = folder('schemas', {})
    const engine = await testEngine(path)
    await engine.run(`COPY (SELECT 0 AS t, 'x' AS a) TO '${path}/1.parquet'`)
    await engine.run(`COPY (SELECT 'y' AS a, 1 AS t, 5 AS b) TO '${path}/2.parquet'`)
    assert.deepEqual(await values(local(path, '*'), parquet), ['x', 'y'])
  })

  it('reports damaged files', async () => {
    const path = folder('broken', {})
    const engine = await testEngine(path)
    await engine.run(
      `COPY (SELECT range AS t, 'x' || hash(range) AS a FROM range(20000)) TO '${path}/whole.parquet'`,
    )
    const { readFileSync } = await import('node:fs')
    const full = readFileSync(join(path, 'whole.parquet'))
    const flipped = Buffer.from(full)
    flipped.fill(0x55, 4000, 60_000)
    const broken = {
      'truncated.parquet': full.subarray(0, full.length / 2),
      'empty.parquet': Buffer.alloc(0),
      'text.parquet': Buffer.from(csvText('secret value')),
      'flipped.parquet': flipped,
    }
    for (const [name, bytes] of Object.entries(broken)) {
      writeFileSync(join(path, name), bytes)
      await assert.rejects(values({ type: 'local', files: [join(path, name)] }, parquet), (error: Error) => {
        assert.match(error.message, /^Failed to read the input: /)
        assert.doesNotMatch(error.message, /secret/)
        return true
      })
    }
  })
})

async function serve(answer: RequestListener): Promise<string> {
  const server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}

const allowedHosts: string[] = []

describe('files over HTTP', async () => {
  const forbidden = await serve((_, response) => response.end(csvText('secret')))
  const host = await serve((request, response) => {
    const to = (status: number, location: string) => response.writeHead(status, { location }).end()
    switch (request.url) {
      case '/a.csv':
        return response.end(csvText('x'))
      case '/b.csv.gz?token=secret':
        return response.end(gzipSync(csvText('y')))
      case '/moved':
        return to(302, '/a.csv')
      case '/away':
        return to(307, `http://${forbidden}/a.csv`)
      case '/file':
        return to(301, 'file:///etc/passwd')
      case '/circle':
        return to(302, '/circle')
      case '/busy':
        return response.writeHead(503).end('secret')
      case '/torn':
        response.writeHead(200, { 'content-length': '1000' })
        response.write('t,a\n')
        return setImmediate(() => response.destroy())
      default:
        return response.writeHead(404).end('secret')
    }
  })
  allowedHosts.push(host)
  const http = (...paths: string[]) => ({ type: 'http', uris: paths.map((path) => `http://${host}${path}`) })

  it('are read', async () => {
    assert.deepEqual(await values(http('/a.csv', '/b.csv.gz?token=secret')), ['x', 'y'])
    assert.deepEqual(await values(http('/moved')), ['x'])
  })

  const cases: { path: string; code: string; message: string | RegExp }[] = [
    {
      path: '/away',
      code: 'invalidInput',
      message: `URI [http://${host}/away] redirects to host [${forbidden}], which is not in [svc.ingestion.http.allowedHosts]`,
    },
    { path: '/file', code: 'invalidInput', message: /redirects to host \[\]/ },
    {
      path: '/circle',
      code: 'invalidInput',
      message: `URI [http://${host}/circle] redirects more than [5] times`,
    },
    { path: '/busy', code: 'unavailable', message: `URI [http://${host}/busy] returned status [503]` },
    {
      path: '/none?token=secret',
      code: 'invalidInput',
      message: `URI [http://${host}/none] returned status [404]`,
    },
    { path: '/torn', code: 'unavailable', message: /^Failed to read URI \[http:\/\/.*\/torn\]: / },
  ]
  for (const { path, code, message } of cases) {
    it(`are not read from ${path}`, async () => {
      await assert.rejects(values(http(path)), { code, message })
    })
  }

  it('are not read from a host that is unavailable', async () => {
    const gone = '127.0.0.1:1'
    allowedHosts.push(gone)
    await assert.rejects(values({ type: 'http', uris: [`http://${gone}/a.csv`] }), {
      code: 'unavailable',
      message: /^Failed to read URI \[http:\/\/127\.0\.0\.1:1\/a\.csv\]: /,
    })
  })
})

describe('HTTP sources that exceed a limit', async () => {
  const stalled: ServerResponse[] = []
  const zeros = Buffer.alloc(100_000)
  const host = await serve((request, response) => {
    const { pathname } = new URL(request.url ?? '', 'http://x')
    /** Sends parts until the client disconnects. */
    const keepSending = (part: string | Buffer, everyMs: number) => {
      const timer = setInterval(() => response.write(part), everyMs)
      response.on('close', () => clearInterval(timer))
    }
    switch (pathname) {
      case '/never-answers.csv':
        return stalled.push(response)
      case '/stops.csv':
        return response.write('t,a\n')
      case '/drips.csv':
        response.write('t,a\n')
        return keepSending('x', 5)
      case '/endless.csv':
        return keepSending(Buffer.alloc(50_000, 'x,y\n'), 1)
      case '/announces-much.csv':
        response.writeHead(200, { 'content-length': '1000000000000' })
        return response.write('t,a\n')
      case '/sends-less.csv':
        response.writeHead(200, { 'content-length': '1000' })
        response.write('t,a\n')
        return setImmediate(() => response.socket?.end())
      case '/sends-more.csv':
        response.socket?.end(
          'HTTP/1.1 200 OK\r\nContent-Type: text/csv\r\nConnection: close\r\nContent-Length: 17\r\n\r\nt,a\n2026-01-01,x\n2026-01-01,y\n',
        )
        return
      case '/redirects-slowly.csv':
        return setTimeout(() => response.writeHead(302, { location: request.url }).end(), 120)
      case '/bomb.csv.gz':
        return response.end(gzipSync(Buffer.alloc(20_000_000)))
      case '/bomb.csv.zst':
        return response.end(zstdCompressSync(Buffer.alloc(20_000_000)))
      case '/encoded-bomb.csv':
        return response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(Buffer.alloc(20_000_000)))
      case '/damaged.csv.gz':
        return response.end(Buffer.concat([gzipSync(csvText('x')).subarray(0, 20), zeros]))
      default:
        return response.end(csvText('x'))
    }
  })
  allowedHosts.push(host)
  const http = (...paths: string[]) => ({ type: 'http', uris: paths.map((path) => `http://${host}${path}`) })

  const idle = { idleTimeoutMs: 300 }
  const cases: {
    path: string
    limits: Partial<HttpInputLimits>
    code: string
    message: RegExp
  }[] = [
    {
      path: '/never-answers.csv',
      limits: idle,
      code: 'unavailable',
      message:
        /^Abandoned the download of URI \[.*\]: the server sent nothing for \[0\.3\] seconds \(\[svc\.ingestion\.http\.idleTimeout\]\)$/,
    },
    { path: '/stops.csv', limits: idle, code: 'unavailable', message: /sent nothing for \[0\.3\] seconds/ },
    {
      path: '/drips.csv',
      limits: { ...idle, minBytesPerSecond: 10_000 },
      code: 'unavailable',
      message:
        /the server sent \[\d+\] bytes per second, less than the minimum of \[10000\] \(\[svc\.ingestion\.http\.minBytesPerSecond\]\)/,
    },
    {
      path: '/drips.csv',
      limits: { timeoutMs: 500 },
      code: 'unavailable',
      message: /downloads took longer than \[0\.5\] seconds .*\(\[svc\.ingestion\.http\.timeout\]\)/,
    },
    {
      path: '/redirects-slowly.csv',
      limits: { timeoutMs: 300 },
      code: 'unavailable',
      message: /took longer than \[0\.3\] seconds/,
    },
    {
      path: '/endless.csv',
      limits: { maxBytes: 1_000_000 },
      code: 'tooLarge',
      message:
        /total size of this task's files exceeds \[1000000\] bytes, the limit set by \[svc\.ingestion\.http\.maxSize\]$/,
    },
    { path: '/announces-much.csv', limits: {}, code: 'tooLarge', message: /exceeds \[10000000\] bytes/ },
    { path: '/sends-less.csv', limits: {}, code: 'unavailable', message: /^Failed to read URI / },
    {
      path: '/bomb.csv.gz',
      limits: {},
      code: 'tooLarge',
      message:
        /total decompressed size .* exceeds \[10000000\] bytes, .* \[svc\.ingestion\.http\.maxDecompressedSize\]$/,
    },
    { path: '/bomb.csv.zst', limits: {}, code: 'tooLarge', message: /decompressed size/ },
    { path: '/encoded-bomb.csv', limits: {}, code: 'tooLarge', message: /svc\.ingestion\.http\.maxSize/ },
  ]
  for (const { path, limits, code, message } of cases) {
    it(`are abandoned: ${path} with ${JSON.stringify(limits)}`, async () => {
      const uri = `URI [http://${host}${path}]`
      await assert.rejects(
        values(http(`${path}?token=secret`), csv, limits),
        (error: Error & { code: string }) => {
          assert.match(error.message, message)
          assert.equal(error.code, code)
          assert.ok(error.message.includes(uri), error.message)
          assert.doesNotMatch(error.message, /secret/)
          return true
        },
      )
    })
  }

  it('are limited by the total of all files of a task', async () => {
    const size = csvText('x').length
    assert.deepEqual(await values(http('/1.csv', '/2.csv'), csv, { maxBytes: 2 * size }), ['x', 'x'])
    await assert.rejects(values(http('/1.csv', '/2.csv'), csv, { maxBytes: 2 * size - 1 }), {
      code: 'tooLarge',
      message: /^The input files are too large: at URI \[.*\/2\.csv\]/,
    })
  })

  it('are reported if damaged', async () => {
    await assert.rejects(values(http('/damaged.csv.gz'), csv, { maxDecompressedBytes: 1000 }), {
      message: /^Failed to read .*damaged\.csv\.gz\]: /,
    })
  })

  it('are read only up to their declared length', async () => {
    assert.deepEqual(await values(http('/sends-more.csv')), ['x'])
  })

  it('are disconnected at once when the task is canceled', async () => {
    const controller = new AbortController()
    const run = bench.run(
      { inputSource: http('/never-answers.csv'), inputFormat: csv },
      { allowedHosts, signal: controller.signal },
    )
    const before = stalled.length
    await waitUntil('the request', async () => stalled.length > before)
    controller.abort(new Error('ended'))
    await assert.rejects(run, { message: 'ended' })
  })
})
