import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, test } from 'node:test'
import { logFile, openHome, writeRunFile } from '../home/index.ts'
import { identify } from '../processes/index.ts'
import { clusterStatus } from './cluster-status.ts'

const folder = mkdtempSync(path.join(tmpdir(), 'svc-status-'))
after(() => rmSync(folder, { recursive: true, force: true }))
const home = openHome(folder)
const problem = 'Failed to load segment [wiki_1]: disk full'

const cases: [name: string, respond: RequestListener, expect: string][] = [
  [
    'the problem that a server reports',
    (_, response) => response.writeHead(503).end('{"errorMessage":"Waiting for the metadata store"}'),
    'Waiting for the metadata store',
  ],
  [
    'that a server does not respond, not a problem that it logged before',
    () => undefined,
    'No response within 2 s',
  ],
]

for (const [name, respond, expect] of cases) {
  test(`shows ${name}`, async (context) => {
    const server = createServer(respond).listen(0, '127.0.0.1')
    context.after(() => {
      server.closeAllConnections()
      server.close()
    })
    await once(server, 'listening')
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const own = identify(process.pid, 'node')!
    writeRunFile(home, {
      profile: 'plain',
      startedAt: 0,
      supervisor: own,
      routerUrl: url,
      processes: [
        { instance: 'historical-1', role: 'historical', url, process: own, state: 'running', restarts: 0 },
      ],
    })
    const entry = { timestamp: new Date().toISOString(), level: 'error', message: problem }
    writeFileSync(logFile(home, 'historical-1'), `${JSON.stringify(entry)}\n`)
    const { processes } = await clusterStatus(home)
    assert.deepEqual(
      processes.map((one) => [one.state, one.problem]),
      [['not ready', expect]],
    )
  })
}
