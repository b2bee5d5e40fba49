import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, test } from 'node:test'
import { deflateRawSync } from 'node:zlib'
import { type HttpCall, httpRequest } from '@svc/shared/testing'
import type { ServedPage } from '../console-build/index.ts'
import { serveDruidConsole } from './index.ts'

/** Returns a zip archive with these files, every other one compressed. */
function zipOf(files: Readonly<Record<string, string>>): Buffer {
  const parts: Buffer[] = []
  const entries: Buffer[] = []
  let offset = 0
  for (const [index, [name, text]] of Object.entries(files).entries()) {
    const isDeflated = index % 2 === 0
    const content = isDeflated ? deflateRawSync(text) : Buffer.from(text)
    const local = Buffer.alloc(30)
    local.writeUInt32LE(0x04034b50, 0)
    local.writeUInt16LE(name.length, 26)
    const entry = Buffer.alloc(46)
    entry.writeUInt32LE(0x02014b50, 0)
    entry.writeUInt16LE(isDeflated ? 8 : 0, 10)
    entry.writeUInt32LE(content.length, 20)
    entry.writeUInt32LE(text.length, 24)
    entry.writeUInt16LE(name.length, 28)
    entry.writeUInt32LE(offset, 42)
    parts.push(local, Buffer.from(name), content)
    entries.push(entry, Buffer.from(name))
    offset += local.length + name.length + content.length
  }
  const end = Buffer.alloc(22)
  end.writeUInt32LE(0x06054b50, 0)
  end.writeUInt16LE(Object.keys(files).length, 10)
  end.writeUInt32LE(offset, 16)
  return Buffer.concat([...parts, ...entries, end])
}

describe("Druid's console", () => {
  const root = mkdtempSync(path.join(tmpdir(), 'svc-druid-console-'))
  const installation = path.join(root, 'apache-druid')
  const requests: { readonly line: string; readonly headers: IncomingMessage['headers']; body: string }[] = []
  let hasAlias = true
  const router = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks).toString()
    requests.push({ line: `${request.method} ${request.url}`, headers: request.headers, body })
    const isKnown = hasAlias && request.url!.startsWith('/druid/')
    if (!isKnown) response.writeHead(404).end()
    else if (request.headers.authorization === undefined)
      response.writeHead(401, { 'WWW-Authenticate': 'Basic realm="druid"' }).end()
    else response.writeHead(200, { 'Content-Type': 'application/json' }).end('{"ok":true}')
  })
  let routerUrl = ''
  let page: ServedPage
  const clusterOf = () => ({ routerUrl, trusted: undefined, credentials: 'admin:secret' })

  before(async () => {
    mkdirSync(path.join(installation, 'lib'), { recursive: true })
    writeFileSync(
      path.join(installation, 'lib/web-console-37.0.0.jar'),
      zipOf({
        'META-INF/MANIFEST.MF': 'Manifest-Version: 1.0',
        'org/apache/druid/console/unified-console.html': '<title>Apache Druid</title>',
        'org/apache/druid/console/public/web-console.js': 'start()',
      }),
    )
    await new Promise<void>((resolve) => router.listen(0, '127.0.0.1', resolve))
    routerUrl = `http://127.0.0.1:${(router.address() as AddressInfo).port}`
    page = await serveDruidConsole(installation, clusterOf(), 0)
  })
  after(() => {
    page.close()
    router.closeAllConnections()
    router.close()
    rmSync(root, { recursive: true, force: true })
  })

  const get = (path: string, request: Omit<HttpCall, 'path'> = {}, { url } = page) =>
    httpRequest(Number(new URL(url).port), { path, ...request })

  test('is served from the jar of an installation', async () => {
    const answer = await get('/')
    assert.equal(answer.text, '<title>Apache Druid</title>')
    assert.equal(answer.headers['content-type'], 'text/html; charset=utf-8')
    const script = await get('/public/web-console.js')
    assert.deepEqual(
      [script.headers['content-type'], script.text],
      ['text/javascript; charset=utf-8', 'start()'],
    )
  })

  test('is served from its unpacked files, and nothing outside of them', async () => {
    const unpacked = path.join(root, 'unpacked')
    mkdirSync(unpacked)
    writeFileSync(path.join(unpacked, 'unified-console.html'), 'unpacked')
    writeFileSync(path.join(root, 'secret'), 'secret')
    const other = await serveDruidConsole(unpacked, clusterOf(), 0)
    assert.equal((await get('/', {}, other)).text, 'unpacked')
    assert.equal((await get('/..%2Fsecret', {}, other)).status, 404)
    other.close()
  })

  test('sends everything else to the router, with the login of the browser only', async () => {
    requests.length = 0
    const refused = await get('/druid/v2/sql', { method: 'POST', body: '{}' })
    assert.deepEqual([refused.status, refused.headers['www-authenticate']], [401, 'Basic realm="druid"'])
    const answer = await get('/druid/v2/sql?a=b', {
      method: 'POST',
      body: '{"query":"SELECT 1"}',
      headers: { Authorization: 'Basic eA==' },
    })
    assert.deepEqual(answer.json, { ok: true })
    const last = requests.at(-1)!
    assert.deepEqual([last.line, last.body], ['POST /druid/v2/sql?a=b', '{"query":"SELECT 1"}'])
    assert.equal(last.headers.host, routerUrl.slice('http://'.length))
  })

  test('refuses requests of other sites', async () => {
    const answer = await get('/druid/v2/sql', { headers: { Origin: 'https://evil.example' } })
    assert.equal(answer.status, 403)
  })

  test('answers requests with an invalid path', async () => {
    assert.equal((await get('/%E0%A4%A')).status, 404)
  })

  test('needs a cluster with the paths of Druid, and the files of the console', async () => {
    hasAlias = false
    await assert.rejects(
      serveDruidConsole(installation, clusterOf(), 0),
      /Restart it with .*aliases=\["druid"\]/,
    )
    hasAlias = true
    await assert.rejects(
      serveDruidConsole(path.join(root, 'nosuch'), clusterOf(), 0),
      /Druid's console is not in .*: expected a Druid installation/,
    )
    writeFileSync(path.join(root, 'damaged.jar'), 'PK')
    await assert.rejects(
      serveDruidConsole(path.join(root, 'damaged.jar'), clusterOf(), 0),
      /Invalid jar file/,
    )
  })
})
