// An added worker joins a running cluster, runs its tasks, is listed, and leaves without a trace.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { after, test } from 'node:test'
import { loadTask } from '@svc/shared/postgres'
import { waitUntil } from '@svc/shared/testing'
import { flightsTask, runTask } from './support/flights.ts'
import { runSvc, svcCommand } from './support/svc-command.ts'
import { startTestCluster } from './support/test-cluster.ts'

const cluster = await startTestCluster({
  profile: 'secure',
  set: ['overlord.svc.worker.capacity=0'],
  hasRealPasswords: true,
})
after(() => cluster.end())
const { router, store, home } = cluster

interface ShownWorker {
  readonly worker: { readonly scheme: string; readonly host: string; readonly capacity: number }
  readonly runningTasks: readonly string[]
}
const workers = async () =>
  (await router.get<ShownWorker[]>('/svc/indexer/v1/workers')).filter(({ worker }) => worker.capacity > 0)

interface ShownProcess {
  readonly role: string
  readonly instance: string
  readonly state: string
}
async function shownWorkers(): Promise<readonly ShownProcess[]> {
  const { stdout } = await runSvc('status', '--home', home.root, '--json')
  const { processes } = JSON.parse(stdout) as { processes: readonly ShownProcess[] }
  return processes.filter(({ role }) => role === 'worker')
}

/** Starts `./svc worker` and waits until it reports that it has started. */
async function addWorker(...options: string[]) {
  const child = spawn(svcCommand, ['worker', '--home', home.root, ...options], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  after(() => child.kill('SIGTERM'))
  const ended = once(child, 'exit') as Promise<[number | null]>
  let printed = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed += text
  })
  await waitUntil(
    'the worker has started',
    () => printed,
    (text) => /^Started \S+ at https:/.test(text),
    { timeoutMs: 90_000 },
  )
  return { child, ended }
}

test('a worker is added, runs tasks, and stops', async () => {
  assert.deepEqual(await workers(), [])
  const { child, ended } = await addWorker('--capacity', '3')
  const [shown] = await waitUntil('the overlord knows it', workers, ({ length }) => length === 1)
  assert.deepEqual([shown?.worker.scheme, shown?.worker.capacity], ['https', 3])
  assert.deepEqual(
    (await shownWorkers()).map(({ instance, state }) => [instance, state]),
    [['worker-added-1', 'ready']],
  )
  const id = await runTask(router, flightsTask())
  const task = await loadTask(store, id)
  assert.deepEqual([task?.state, task?.worker, task?.attempt], ['SUCCESS', shown?.worker.host, 1])

  child.kill('SIGTERM')
  assert.equal((await ended)[0], 0)
  assert.deepEqual(await shownWorkers(), [])
  await waitUntil('the overlord no longer lists it', workers, ({ length }) => length === 0)
})

test('workers wait while an overlord restarts, and stop by themselves', async () => {
  const [first, second] = [await addWorker(), await addWorker()]
  assert.deepEqual(
    (await shownWorkers()).map(({ instance }) => instance),
    ['worker-added-1', 'worker-added-2'],
  )
  await cluster.kill('overlord', 'SIGKILL')
  await cluster.waitUntilReady('overlord')
  const task = await loadTask(store, await runTask(router, flightsTask({ dataSource: 'again' })))
  assert.equal(task?.attempt, 1)
  for (const { child } of [first, second]) child.kill('SIGINT')
  assert.deepEqual([(await first.ended)[0], (await second.ended)[0]], [0, 0])
})
