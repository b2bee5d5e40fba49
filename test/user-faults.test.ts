// ./svc fault in a running simulation: each kind of fault affects its target, is listed, and ends.

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { ClusterStatus } from '@svc/cli/cluster'
import { waitUntil } from '@svc/shared/testing'
import { runSvc } from './support/svc-command.ts'
import { startTestCluster } from './support/test-cluster.ts'

const cluster = await startTestCluster({ profile: 'secure', set: ['svc.simulation.enabled=true'] })
after(() => cluster.end())
const { home, router } = cluster
const fault = (...args: string[]) => runSvc('fault', ...args, '--home', home.root)
const rules = '/svc/coordinator/v1/rules'

test('a disconnected server answers nobody until the fault is cleared', async () => {
  const { status, stderr } = await fault('cut', 'coordinator', '--probability', '1')
  assert.equal(status, 0, stderr)
  await waitUntil(
    'the router cannot reach the coordinator',
    () => router.send({ path: rules }),
    (answer) => answer.status >= 500,
  )
  const listed = await fault('list')
  assert.match(listed.stdout, /cut +127\.0\.0\.1:\d+/)
  const shown = await runSvc('status', '--home', home.root)
  assert.match(shown.stdout, /^coordinator .* ready +fault: cut until it is cleared$/m)
  const printed = JSON.parse((await runSvc('status', '--home', home.root, '--json')).stdout) as ClusterStatus
  const faulty = printed.processes.filter(({ faults }) => faults.length > 0)
  assert.deepEqual(
    faulty.map(({ instance, faults }) => [instance, faults.map(({ kind }) => kind)]),
    [['coordinator', ['cut']]],
  )
  assert.match((await fault('clear')).stdout, /^Cleared 1 fault\./)
  await waitUntil(
    'the router can reach it again',
    () => router.send({ path: rules }),
    (answer) => answer.status === 200,
  )
})

test('a disconnected historical reaches no other server, so others load its segments', async () => {
  const servers = () => router.get<string[]>('/svc/coordinator/v1/servers')
  const name = cluster.nameOf('historical-1')
  await waitUntil('it is known', servers, (names) => names.includes(name))
  assert.equal((await fault('cut', 'historical-1')).status, 0)
  await waitUntil('the leader considers it dead', servers, (names) => !names.includes(name))
  assert.equal((await fault('clear')).status, 0)
  await waitUntil('it is known again', servers, (names) => names.includes(name))
})

test('one server can be cut off from another one, and reaches all others', async () => {
  const tasks = '/svc/indexer/v1/tasks'
  const { status, stderr } = await fault('cut', 'overlord', '--from', 'router')
  assert.equal(status, 0, stderr)
  await waitUntil(
    'the router cannot reach the overlord',
    () => router.send({ path: tasks }),
    (answer) => answer.status >= 500,
  )
  assert.equal((await router.send({ path: rules })).status, 200)
  assert.match((await fault('list')).stdout, /cut +127\.0\.0\.1:\d+ → 127\.0\.0\.1:\d+/)
  assert.match((await fault('clear')).stdout, /^Cleared 1 fault\./)
  await waitUntil(
    'the router can reach it again',
    () => router.send({ path: tasks }),
    (answer) => answer.status === 200,
  )
})

test('a killed server is restarted', async () => {
  const restarts = () => cluster.processes().find(({ instance }) => instance === 'broker')!.restarts
  const before = restarts()
  assert.equal((await fault('kill', 'broker')).status, 0)
  await waitUntil('it was restarted', restarts, (count) => count === before + 1)
  await cluster.waitUntilReady('broker')
})

test('a coordinator that is killed for a time cannot list the faults, and status reports it', async () => {
  const { status, stderr } = await fault('kill', 'coordinator', '--for', 'PT4S')
  assert.equal(status, 0, stderr)
  await waitUntil(
    'status fails to list the faults',
    () => runSvc('status', '--home', home.root),
    ({ stdout }) => /^Failed to list the active faults: /m.test(stdout),
  )
  await waitUntil(
    'the fault has ended and is not listed',
    () => runSvc('status', '--home', home.root),
    ({ status, stdout }) => status === 0 && !/fault/.test(stdout),
  )
})

test('requests to a slow server wait until the fault ends by itself', async () => {
  const { status, stderr } = await fault('latency', 'router', '--delay', 'PT0.3S', '--for', 'PT3S')
  assert.equal(status, 0, stderr)
  const tookMs = async () => {
    const began = performance.now()
    await router.send({ path: '/status/health' })
    return performance.now() - began
  }
  await waitUntil('requests wait', tookMs, (ms) => ms >= 300)
  await waitUntil(
    'the fault has ended',
    () => router.get<unknown[]>('/svc/simulation/v1/faults'),
    (faults) => faults.length === 0,
  )
})

test('rejects unknown and invalid targets and faults', async () => {
  const unknown = await fault('kill', 'historical-9')
  assert.equal(unknown.status, 2)
  assert.match(unknown.stderr, /historical-9.*[[ ]coordinator,.* historical-1,/)
  for (const [args, message] of [
    [['flood', 'router'], /flood/],
    [['clear', 'nothing'], /^svc: Invalid value \[nothing\] for \[id\]: no faults are active$/m],
    [['kill', '127.0.0.1:1'], /Invalid target \[127.0.0.1:1\]: expected one of/],
  ] as const) {
    const { status, stderr } = await fault(...args)
    assert.equal(status, 2)
    assert.match(stderr, message)
  }
})

test('a cluster that is not a simulation has no faults', async () => {
  const real = await startTestCluster({ profile: 'plain' })
  try {
    const { status, stderr } = await runSvc('fault', 'kill', 'broker', '--home', real.home.root)
    assert.notEqual(status, 0)
    assert.match(stderr, /svc\.simulation\.enabled/)
  } finally {
    await real.end()
  }
})
