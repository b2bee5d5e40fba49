import assert from 'node:assert/strict'
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { test } from 'node:test'
import { serveLocally } from './local-server.ts'

test('refuses paths that are not valid, other hosts, and pages of other sites', async () => {
  const page = await serveLocally(0, '/console/', (_, response) => response.end('fine'))
  const statusOf = async (path: string, headers = {}): Promise<number | undefined> => {
    const request = get({ port: new URL(page.url).port, host: '127.0.0.1', path, headers, agent: false })
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    response.resume()
    return response.statusCode
  }
  try {
    assert.equal(await statusOf('/console/'), 200)
    assert.equal(await statusOf('//'), 400)
    assert.equal(await statusOf('http://['), 400)
    assert.equal(await statusOf('/console/', { host: 'evil.example' }), 403)
    assert.equal(await statusOf('/console/', { origin: 'http://evil.example' }), 403)
  } finally {
    page.close()
  }
})
