import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { buffer } from 'node:stream/consumers'
import { after, before, describe, it } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { createHttpClient, httpRequest } from '../testing/index.ts'
import { createConsoleFiles, pageFor } from './console-files.ts'

const root = mkdtempSync(path.join(tmpdir(), 'svc-console-'))
const dist = path.join(root, 'console/dist')
const serve = createConsoleFiles(dist, 'login')
const server = createServer(async (request, response) => {
  const { pathname } = new URL(request.url!, 'http://router')
  if (!(await serve(Object.assign(request, { path: pathname }), response))) response.writeHead(418).end()
})
let port = 0

before(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  ;({ port } = server.address() as AddressInfo)
})
after(() => {
  server.closeAllConnections()
  server.close()
  rmSync(root, { recursive: true, force: true })
})

const get = (path: string, headers: Readonly<Record<string, string>> = {}) =>
  httpRequest(port, { path, headers })

const builtPage = '<meta name="svc-source" content="files"><script src="./assets/a-1.js"></script>'
const html = { Accept: 'text/html,*/*' }

describe('the files of the console', () => {
  it('are replaced by a page that reloads itself until they are built', async () => {
    const answer = await get('/console/', html)
    assert.equal(answer.status, 200)
    assert.match(answer.text, /not built yet/)
  })

  it('are served with a strict content security policy, and assets forever', async () => {
    mkdirSync(path.join(dist, 'assets'), { recursive: true })
    writeFileSync(path.join(dist, 'index.html'), builtPage)
    writeFileSync(path.join(dist, 'assets/a-1.js'), 'export {}')
    for (const name of ['/console/', '/console/datasources/a%2Fb']) {
      const page = await get(name, html)
      assert.equal(
        page.text,
        '<meta name="svc-source" content="login"><script src="/console/assets/a-1.js"></script>',
      )
      assert.equal(page.headers['cache-control'], 'no-store')
      const policy = String(page.headers['content-security-policy'])
      assert.match(policy, /default-src 'none'.*script-src 'self'.*frame-ancestors 'none'/)
      assert.doesNotMatch(policy, /unsafe/)
    }
    const client = createHttpClient(`http://127.0.0.1:${port}`)
    const asset = await client.open({
      path: '/console/assets/a-1.js',
      headers: { 'Accept-Encoding': 'gzip' },
    })
    assert.equal(asset.headers['content-encoding'], 'gzip')
    assert.equal(gunzipSync(await buffer(asset)).toString(), 'export {}')
    client.close()
    assert.match(asset.headers['cache-control']!, /immutable/)
    assert.equal((await get('/console/assets/../../../secret')).status, 418)
    assert.equal((await get('/console/assets/..%2F..%2Fsecret')).status, 404)
  })

  it('receive redirected browsers, but no other clients', async () => {
    for (const name of ['/', '/console']) {
      const answer = await get(name, html)
      assert.deepEqual([answer.status, answer.headers.location], [302, '/console/'])
    }
    assert.equal((await get('/', { Accept: 'application/json' })).status, 418)
    assert.equal((await get('/status', html)).status, 418)
    assert.equal((await httpRequest(port, { method: 'POST', path: '/console/' })).status, 418)
  })

  it('say so if no login is required', async () => {
    const open = createConsoleFiles(dist, 'open')
    const plain = createServer((request, response) =>
      open(Object.assign(request, { path: '/console/' }), response),
    )
    await new Promise<void>((resolve) => plain.listen(0, '127.0.0.1', resolve))
    const answer = await httpRequest((plain.address() as AddressInfo).port, { path: '/console/' })
    assert.match(answer.text, /<meta name="svc-source" content="open">/)
    plain.closeAllConnections()
    plain.close()
  })

  it('keep their relative addresses next to a snapshot, because the page can be in any folder', () => {
    assert.equal(pageFor(builtPage, 'snapshot'), builtPage.replace('content="files"', 'content="snapshot"'))
  })
})
