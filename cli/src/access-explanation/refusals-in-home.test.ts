import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, describe, it } from 'node:test'
import { openHome, writeRunFile, writeSecret } from '../home/index.ts'
import { identify } from '../processes/index.ts'
import { refusedHandshakes } from './index.ts'

const folder = mkdtempSync(path.join(tmpdir(), 'svc-refusals-'))
const home = openHome(folder)
const handshake = { id: 'h1', time: '2026-01-03T00:00:00.000Z', address: '10.0.0.1', code: 'WRONG_HOST' }
const statusOf: Readonly<Record<string, number>> = { 'admin:right': 200, 'bob:pw': 403 }
// Takes the place of a server with a login.
const server = createServer((request, response) => {
  const login = Buffer.from(request.headers.authorization?.replace('Basic ', '') ?? '', 'base64').toString()
  const status = statusOf[login] ?? 401
  response.writeHead(status, { 'Content-Type': 'application/json' })
  const body = status === 200 ? [handshake] : { errorMessage: `no access for ${login}` }
  response.end(JSON.stringify(body))
})
server.listen(0, '127.0.0.1')
await once(server, 'listening')
after(() => {
  server.close()
  rmSync(folder, { recursive: true })
})
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
const router = { instance: 'router', role: 'router', url, state: 'running', restarts: 0 } as const
const supervisor = identify(process.pid, 'node')!
writeRunFile(home, { profile: 'secure', startedAt: 0, supervisor, routerUrl: url, processes: [router] })

const read = (credentials?: string) => refusedHandshakes({ home, login: { credentials } }, undefined)

describe('refused handshakes in a home', () => {
  it('are read as its admin, or as the given user', async () => {
    writeSecret(home, 'admin-password', 'right')
    assert.deepEqual(await read(), [{ instance: 'router', ...handshake }])
    await assert.rejects(read('bob:pw'), { code: 'forbidden', message: 'no access for bob:pw' })
    await assert.rejects(read('bob:other'), { code: 'unauthorized', message: /valid --user/ })
  })

  it('are not an empty list if the password of the admin has changed', async () => {
    writeSecret(home, 'admin-password', 'old')
    await assert.rejects(read(), { code: 'unauthorized', message: /rejected the admin password stored/ })
  })

  it('are not read from a server that does not listen, with the reason in one sentence', async () => {
    const closed = { ...router, url: 'http://127.0.0.1:1' } as const
    writeRunFile(home, {
      profile: 'secure',
      startedAt: 0,
      supervisor,
      routerUrl: closed.url,
      processes: [closed],
    })
    await assert.rejects(read(), {
      code: 'unavailable',
      message: 'Failed to query router: connect ECONNREFUSED 127.0.0.1:1',
      context: { clusterState: 'notKnown' },
    })
  })
})
