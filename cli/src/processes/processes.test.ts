import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { waitUntil } from '@svc/shared/testing'
import { endProcess, identify, isRunning, type ProcessIdentity } from './index.ts'

async function start(script: string): Promise<ProcessIdentity> {
  const child = spawn('/bin/sh', ['-c', `${script}`], { stdio: ['ignore', 'pipe', 'ignore'] })
  await once(child.stdout, 'data')
  return identify(child.pid!, 'sh')!
}

const patient = 'trap "" TERM; echo up; while :; do sleep 0.1; done'
const obedient = 'echo up; while :; do sleep 0.1; done'

test('distinguishes a process from another one with the same ID, or of another program', async () => {
  const process = await start(obedient)
  assert.equal(isRunning(process), true)
  assert.equal(isRunning({ ...process, startTime: `${process.startTime}0` }), false)
  assert.equal(isRunning({ ...process, program: 'postgres' }), false)
  await endProcess(process, 'SIGTERM', 5000)
  assert.equal(isRunning(process), false)
})

test('kills a process that ignores the signal after the timeout', async () => {
  const process = await start(patient)
  const began = performance.now()
  await endProcess(process, 'SIGTERM', 200)
  assert.ok(performance.now() - began >= 200)
  assert.equal(isRunning(process), false)
})

test('does not affect another process that has the ID of an ended one', async () => {
  const other = await start(obedient)
  await endProcess({ ...other, startTime: 'long ago' }, 'SIGKILL', 100)
  assert.equal(isRunning(other), true)
  await endProcess(other, 'SIGKILL', 5000)
})

test('a zombie is not running', async (context) => {
  // The shell becomes a program that never reaps its child.
  const parent = spawn('/bin/sh', ['-c', 'sh -c "sleep 0.1; exit" & echo $!; exec sleep 600'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  context.after(() => parent.kill('SIGKILL'))
  const [output] = await once(parent.stdout, 'data')
  const zombie = identify(Number(output.toString()), 'sh')!
  await waitUntil('the process is not running', () => !isRunning(zombie), Boolean, { pollMs: 10 })
  assert.ok(process.kill(zombie.pid, 0), 'the process ID is still in use')
})

test('a process that does not exist has no identity', () => {
  assert.equal(identify(2 ** 22 + 1, 'node'), undefined)
})
