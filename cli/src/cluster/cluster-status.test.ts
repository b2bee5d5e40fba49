import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, test } from 'node:test'
import { explainCluster } from '@svc/domain/explanation'
import { logFile, openHome, writeRunFile } from '../home/index.ts'
import { identify } from '../processes/index.ts'
import { clusterStatus, sentencesWithoutProblemsOf } from './cluster-status.ts'

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

test('shows the problem of each server once', () => {
  const servers = Array.from({ length: 7 }, (_, index) => ({
    role: 'historical',
    server: `127.0.0.1:${8000 + index}`,
    state: 'notReady' as const,
    problem: 'certificate expired',
  }))
  const processes = servers.map(({ server, problem }, index) => ({
    url: `https://${server}`,
    state: 'not ready' as const,
    problem: index === 1 ? null : problem,
  }))
  const sentencesFor = (unavailable: typeof servers) =>
    explainCluster({
      servers: [],
      isPaused: false,
      known: true,
      unavailable,
      seesCluster: true,
      reasons: [],
      shortages: [],
      scheduled: [],
      hasUsedSegments: false,
      nextRun: undefined,
    }).sentences
  assert.equal(sentencesFor(servers).length, 7)
  assert.deepEqual(
    sentencesWithoutProblemsOf(processes, { sentences: sentencesFor(servers), unavailableServers: servers }),
    [
      'The historical [127.0.0.1:8001] is not ready: certificate expired',
      'The cluster has no used segments; there is nothing to load or drop',
    ],
  )
  // The second server became ready after its last heartbeat.
  const ready = processes.map((one) => (one.problem === null ? { ...one, state: 'ready' as const } : one))
  assert.deepEqual(
    sentencesWithoutProblemsOf(ready, { sentences: sentencesFor(servers), unavailableServers: servers }),
    ['The cluster has no used segments; there is nothing to load or drop'],
  )
  // A server that is not in the list may run on another machine.
  assert.equal(
    sentencesWithoutProblemsOf([], { sentences: sentencesFor(servers), unavailableServers: servers }).length,
    7,
  )
})
