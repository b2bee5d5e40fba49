import assert from 'node:assert/strict'
import { test } from 'node:test'
import { httpRequest } from '@svc/shared/testing'
import { serveLocally } from './local-server.ts'

test('refuses paths that are not valid, other hosts, and pages of other sites', async () => {
  const page = await serveLocally(0, '/console/', (_, response) => response.end('fine'))
  const statusOf = async (path: string, headers = {}) =>
    (await httpRequest(Number(new URL(page.url).port), { path, headers })).status
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
