import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, test } from 'node:test'
import { waitUntil } from '@svc/shared/testing'
import { hasEndedWithin, identify, isRunning, type ProcessIdentity } from '../processes/index.ts'
import { type ProcessEnd, type ProcessSpec, Supervisor } from './supervisor.ts'

const folder = mkdtempSync(path.join(tmpdir(), 'svc-supervisor-'))
after(() => rmSync(folder, { recursive: true }))

const logFile = path.join(folder, 'child.log')

function spec(script: string): ProcessSpec {
  return {
    instance: 'child',
    program: 'sh',
    file: '/bin/sh',
    args: ['-c', script],
    cwd: folder,
    logFile,
    stopSignal: 'SIGTERM',
  }
}

/** A supervisor, and the events that it has reported. */
function observed(stopTimeoutMs?: number) {
  const starts: ProcessIdentity[] = []
  const ends: ProcessEnd[] = []
  let notify = () => {}
  const supervisor = new Supervisor(
    {
      onStart: (_instance, process) => {
        starts.push(process)
        notify()
      },
      onEnd: (end) => {
        ends.push(end)
        notify()
      },
    },
    stopTimeoutMs,
  )
  const until = async (isMet: () => boolean) => {
    while (!isMet()) {
      await new Promise<void>((resolve) => {
        notify = resolve
      })
    }
  }
  const close = async () => {
    await supervisor.stop(['child'])
    supervisor.close()
  }
  return { supervisor, starts, ends, until, close }
}

const untilLogged = (text: string) =>
  waitUntil(`the log contains [${text}]`, () => readFileSync(logFile, 'utf8').includes(text), Boolean, {
    pollMs: 10,
  })

test('restarts a process that died, with increasing delay', async () => {
  const { supervisor, starts, ends, until, close } = observed()
  const began = performance.now()
  supervisor.start(spec('exit 3'))
  await until(() => starts.length === 3)
  assert.ok(performance.now() - began >= 600, 'two delays of 0.2 s and 0.4 s')
  assert.deepEqual(
    ends.slice(0, 2).map(({ reason, status, restartDelayMs }) => ({ reason, status, restartDelayMs })),
    [
      { reason: 'exit status 3', status: 3, restartDelayMs: 200 },
      { reason: 'exit status 3', status: 3, restartDelayMs: 400 },
    ],
  )
  assert.equal(supervisor.restartsOf('child'), 2)
  assert.equal(new Set(starts.map(({ pid }) => pid)).size, 3)
  await close()
})

test('kill ends a process, which then restarts', async () => {
  const { supervisor, starts, until, close } = observed()
  supervisor.start(spec('exec sleep 600'))
  await until(() => starts.length === 1)
  await supervisor.kill('child', 'SIGKILL')
  assert.equal(isRunning(starts[0]!), false)
  await until(() => starts.length === 2)
  assert.equal(supervisor.identityOf('child')?.pid, starts[1]!.pid)
  await close()
  assert.equal(isRunning(starts[1]!), false)
})

test('retries a missing program like one that dies', async () => {
  const { supervisor, ends, until, close } = observed()
  supervisor.start({ ...spec(''), file: path.join(folder, 'missing') })
  await until(() => ends.length === 2)
  assert.match(ends[0]!.reason, /^failed to start: .*ENOENT/)
  assert.equal(ends[0]!.status, undefined)
  assert.equal(ends[1]!.restartDelayMs, 400)
  await close()
})

test('stop kills a process that does not exit in time, and its children', async () => {
  const { supervisor, starts, ends, close } = observed(200)
  supervisor.start(spec('trap "" TERM; sleep 601 & echo "sleeper $!"; while :; do sleep 1; done'))
  await untilLogged('sleeper ')
  const sleeper = identify(Number(/sleeper (\d+)/.exec(readFileSync(logFile, 'utf8'))![1]), 'sleep')!
  assert.ok(isRunning(sleeper))
  await supervisor.stop(['child'])
  assert.equal(ends.at(-1)?.reason, 'signal SIGKILL')
  assert.equal(ends.at(-1)?.restartDelayMs, undefined)
  assert.equal(isRunning(starts[0]!), false)
  assert.ok(await hasEndedWithin(sleeper, 2000))
  await close()
})

test('stop cancels a pending restart', async () => {
  const { supervisor, starts, ends, until, close } = observed()
  supervisor.start(spec('exit 1'))
  await until(() => ends.length === 1)
  await close()
  await new Promise((resolve) => setTimeout(resolve, 300))
  assert.equal(starts.length, 1)
})

test('a supervisor that exits normally leaves no processes behind', async () => {
  const script = path.join(folder, 'host.ts')
  writeFileSync(
    script,
    `import { Supervisor } from ${JSON.stringify(path.join(import.meta.dirname, 'index.ts'))}
     const supervisor = new Supervisor({ onStart: (_, { pid }) => process.send!(pid) })
     supervisor.start(${JSON.stringify({ ...spec('trap "" TERM INT; while :; do sleep 1; done') })})
     process.once('message', () => process.exit(0))`,
  )
  const host = spawn(process.execPath, [script], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  const [pid] = await once(host, 'message')
  const child = identify(pid, 'sh')!
  host.send('end')
  await once(host, 'exit')
  assert.ok(await hasEndedWithin(child, 2000))
})

test('rotates a log that is too large at the next start', async () => {
  const { supervisor, starts, until, close } = observed()
  writeFileSync(logFile, 'x'.repeat(17 * 1024 * 1024))
  supervisor.start(spec('echo new log; exec sleep 600'))
  await until(() => starts.length === 1)
  await untilLogged('new log')
  assert.equal(readFileSync(logFile, 'utf8'), 'new log\n')
  assert.equal(readFileSync(`${logFile}.1`, 'utf8').length, 17 * 1024 * 1024)
  await close()
})
