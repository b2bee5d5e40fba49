import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { json, text } from 'node:stream/consumers'
import { after, test } from 'node:test'
import { bundleOf } from '../bundles/index.ts'
import { openHome, writeAddedProcess, writeRunFile } from '../home/index.ts'
import { identify } from '../processes/index.ts'

const folder = mkdtempSync(path.join(tmpdir(), 'svc-fault-'))
const home = openHome(folder)
// Takes the place of the router of a simulation and records the requests of a command.
const requested: unknown[] = []
const virtualServers = ['10.0.0.1:8083', '10.0.0.2:8083']
const on = [{ id: 'f1', kind: 'cut', target: '10.0.0.9:8083', from: null }]
const router = createServer(async (request, response) => {
  if (request.method === 'GET') {
    response.setHeader('Content-Type', 'application/json')
    response.end(JSON.stringify(request.url?.endsWith('/servers') ? virtualServers : on))
    return
  }
  const { kind, target, from } = (await json(request)) as { kind: string; target: string; from?: string }
  requested.push({ kind, target, ...(from === undefined ? {} : { from }) })
  response.setHeader('Content-Type', 'application/json')
  response.end(
    JSON.stringify({
      id: '1',
      kind,
      target,
      from: from ?? null,
      probability: 1,
      delayMs: 0,
      since: '',
      until: null,
    }),
  )
})
router.listen(0, '127.0.0.1')
await once(router, 'listening')
after(() => {
  router.close()
  rmSync(folder, { recursive: true })
})

const url = (host: string) => `http://${host}`
const routerHost = `127.0.0.1:${(router.address() as AddressInfo).port}`
const state = { state: 'running', restarts: 0 } as const
writeRunFile(home, {
  profile: 'plain',
  startedAt: 0,
  supervisor: identify(process.pid, 'node')!,
  routerUrl: url(routerHost),
  processes: [
    { instance: 'router', role: 'router', url: url(routerHost), ...state },
    { instance: 'historical-1', role: 'historical', url: url('127.0.0.1:2'), ...state },
    { instance: 'redis', role: 'redis', url: 'redis://127.0.0.1:3', ...state },
  ],
})
writeAddedProcess(home, { instance: 'worker-added-1', role: 'worker', url: url('127.0.0.1:4'), ...state })

const cut = (target: string) => fault('cut', target)

async function fault(...given: string[]) {
  const args = [bundleOf('svc'), 'fault', ...given, '--home', folder]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'] })
  const [stderr, [status]] = await Promise.all([text(child.stderr), once(child, 'close')])
  return { stderr, status }
}

for (const [target, expected] of [
  ['historical-1', '127.0.0.1:2'],
  ['worker-added-1', '127.0.0.1:4'],
  ['worker', 'worker'],
  ['127.0.0.1:4', '127.0.0.1:4'],
  ['10.0.0.2:8083', '10.0.0.2:8083'],
  ['10.0.0.9:8083', '10.0.0.9:8083'],
] as const) {
  test(`a fault for [${target}] affects [${expected}]`, async () => {
    requested.length = 0
    const { stderr, status } = await cut(target)
    assert.equal(status, 0, stderr)
    assert.deepEqual(requested, [{ kind: 'cut', target: expected }])
  })
}

test('a fault can affect only the requests of one server', async () => {
  requested.length = 0
  const { stderr, status } = await fault('latency', 'historical-1', '--from', 'router')
  assert.equal(status, 0, stderr)
  assert.deepEqual(requested, [{ kind: 'latency', target: '127.0.0.1:2', from: routerHost }])
})

test('rejects a target that is not a service of the cluster', async () => {
  const { stderr, status } = await cut('redis')
  assert.equal(status, 2)
  assert.match(
    stderr,
    /Invalid target \[redis\]: expected one of \[.*worker-added-1.*\], or host:port of a server/,
  )
})

const periods = /expected an ISO 8601 period from/
for (const [given, message] of [
  [['cut', '10.0.0.3:8083'], /Invalid target \[10.0.0.3:8083\]: expected one of \[.*10.0.0.1:8083.*\]/],
  [
    ['latency', 'worker', '--delay', 'P1Y'],
    /Invalid value \[P1Y\] for \[--delay\]: .* from PT0.001S to PT10M,/,
  ],
  [['latency', 'worker', '--delay', 'PT0S'], periods],
  [['slow-disk', 'worker', '--delay', 'soon'], periods],
  [['cut', 'worker', '--for', 'PT0S'], /Invalid value \[PT0S\] for \[--for\]: .* from PT0.1S to P7D,/],
  [['cut', 'worker', '--for', '-PT1S'], /Invalid value \[-PT1S\] for \[--for\]/],
  [['cut', 'worker', '--for', 'P1Y'], periods],
  [
    ['kill', 'worker', '--for', 'PT6M'],
    /from PT0.1S to PT5M, .*a kill fault on the only coordinator cannot be cleared early/,
  ],
  [
    ['cut', 'worker', '--probability', '0'],
    /Invalid value \[0\] for \[--probability\]: .* greater than 0 and at most 1/,
  ],
  [['cut', 'worker', '--probability', '2'], /Invalid value \[2\] for \[--probability\]/],
  [['cut', 'worker', '--probability', 'x'], /Invalid value \[x\] for \[--probability\]/],
  [['clear', 'nope'], /Invalid value \[nope\] for \[id\]: expected .* \[f1\]/],
] as const) {
  test(`fault ${given.join(' ')} is rejected without a request`, async () => {
    requested.length = 0
    const { stderr, status } = await fault(...given)
    assert.match(stderr, message)
    assert.deepEqual([status, requested], [2, []])
  })
}
