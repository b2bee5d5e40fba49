import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { createConsoleFiles, pageFor } from './console-files.ts'

const root = mkdtempSync(path.join(tmpdir(), 'svc-console-'))
const dist = path.join(root, 'console/dist')
const serve = createConsoleFiles(dist, 'login')
const server = createServer(async (request, response) => {
  const { pathname } = new URL(request.url!, 'http://router')
  if (!(await serve(Object.assign(request, { path: pathname }), response))) response.writeHead(418).end()
})
let url = ''

before(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
after(() => {
  server.closeAllConnections()
  server.close()
  rmSync(root, { recursive: true, force: true })
})

const get = (name: string, headers: Readonly<Record<string, string>> = {}) =>
  fetch(`${url}${name}`, { headers, redirect: 'manual' })

const builtPage = '<meta name="svc-source" content="files"><script src="./assets/a-1.js"></script>'
const html = { Accept: 'text/html,*/*' }

describe('the files of the console', () => {
  it('are replaced by a page that reloads itself until they are built', async () => {
    const answer = await get('/console/', html)
    assert.equal(answer.status, 200)
    assert.match(await answer.text(), /not built yet/)
  })

  it('are served with a strict content security policy, and assets forever', async () => {
    mkdirSync(path.join(dist, 'assets'), { recursive: true })
    writeFileSync(path.join(dist, 'index.html'), builtPage)
    writeFileSync(path.join(dist, 'assets/a-1.js'), 'export {}')
    for (const name of ['/console/', '/console/datasources/a%2Fb']) {
      const page = await get(name, html)
      assert.equal(
        await page.text(),
        '<meta name="svc-source" content="login"><script src="/console/assets/a-1.js"></script>',
      )
      assert.equal(page.headers.get('cache-control'), 'no-store')
      const policy = page.headers.get('content-security-policy')!
      assert.match(policy, /default-src 'none'.*script-src 'self'.*frame-ancestors 'none'/)
      assert.doesNotMatch(policy, /unsafe/)
    }
    const asset = await get('/console/assets/a-1.js')
    assert.equal(asset.headers.get('content-encoding'), 'gzip')
    assert.equal(await asset.text(), 'export {}')
    assert.match(asset.headers.get('cache-control')!, /immutable/)
    assert.equal((await get('/console/assets/../../../secret')).status, 418)
    assert.equal((await get('/console/assets/..%2F..%2Fsecret')).status, 404)
  })

  it('receive redirected browsers, but no other clients', async () => {
    for (const name of ['/', '/console']) {
      const answer = await get(name, html)
      assert.deepEqual([answer.status, answer.headers.get('location')], [302, '/console/'])
    }
    assert.equal((await get('/', { Accept: 'application/json' })).status, 418)
    assert.equal((await get('/status', html)).status, 418)
    assert.equal((await fetch(`${url}/console/`, { method: 'POST' })).status, 418)
  })

  it('say so if no login is required', async () => {
    const open = createConsoleFiles(dist, 'open')
    const plain = createServer((request, response) =>
      open(Object.assign(request, { path: '/console/' }), response),
    )
    await new Promise<void>((resolve) => plain.listen(0, '127.0.0.1', resolve))
    const answer = await fetch(`http://127.0.0.1:${(plain.address() as AddressInfo).port}/console/`)
    assert.match(await answer.text(), /<meta name="svc-source" content="open">/)
    plain.closeAllConnections()
    plain.close()
  })

  it('keep their relative addresses next to a snapshot, because the page can be in any folder', () => {
    assert.equal(pageFor(builtPage, 'snapshot'), builtPage.replace('content="files"', 'content="snapshot"'))
  })
})
