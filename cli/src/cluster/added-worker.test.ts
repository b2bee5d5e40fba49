import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, test } from 'node:test'
import {
  addedProcesses,
  claimAddedProcess,
  type HomeLayout,
  openHome,
  processesOf,
  removeAddedProcess,
  writeAddedProcess,
} from '../home/index.ts'
import { identify } from '../processes/index.ts'
import { endCluster, startWorker } from './index.ts'

let folder: string
let home: HomeLayout

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'svc-added-'))
  home = openHome(folder)
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const member = (instance: string) =>
  ({ instance, role: 'worker', url: 'https://127.0.0.1:1', state: 'running', restarts: 0 }) as const

describe('processes added to a cluster', () => {
  test('have distinct names and are listed while their command runs', () => {
    assert.ok(claimAddedProcess(home, 'worker-added-1'))
    assert.ok(!claimAddedProcess(home, 'worker-added-1'))
    assert.ok(claimAddedProcess(home, 'worker-added-2'))
    assert.deepEqual(processesOf(home), [], 'they have not started yet')
    writeAddedProcess(home, member('worker-added-2'))
    assert.deepEqual(processesOf(home), [member('worker-added-2')])
    removeAddedProcess(home, 'worker-added-2')
    assert.deepEqual(processesOf(home), [])
    assert.ok(claimAddedProcess(home, 'worker-added-2'))
  })

  for (const [name, content] of [
    ['of a command that died', { supervisor: { ...identify(process.pid, 'node'), startTime: 'long ago' } }],
    ['that is incomplete', '{'],
  ] as const) {
    test(`replace a file ${name}`, () => {
      const file = path.join(home.run, 'worker-added-1.added.json')
      writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content))
      assert.deepEqual(addedProcesses(home), [])
      assert.ok(claimAddedProcess(home, 'worker-added-1'))
    })
  }

  test('stop with the cluster', async () => {
    const command = spawn(process.execPath, ['--eval', 'setInterval(() => undefined, 1000)'], {
      stdio: 'ignore',
    })
    await once(command, 'spawn')
    const supervisor = identify(command.pid as number, 'node')
    writeFileSync(path.join(home.run, 'worker-added-1.added.json'), JSON.stringify({ supervisor }))
    assert.equal(addedProcesses(home).length, 1)
    const ended = once(command, 'exit')
    await endCluster(home)
    assert.deepEqual(await ended, [null, 'SIGTERM'])
  })

  test('require a running cluster', async () => {
    const signal = new AbortController().signal
    await assert.rejects(startWorker({ home, capacity: 1, set: [], signal }), {
      code: 'conflict',
      message:
        /^No cluster is running in \[.*\]\. Start one with \.\/svc up --home \S+ before you add a worker\.$/,
    })
  })
})
