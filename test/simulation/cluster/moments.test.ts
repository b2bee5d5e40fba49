import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Moments } from './moments.ts'
import { Presence } from './presence.ts'

test('a moment comes once, when its server does what is waited for', () => {
  const moments = new Moments()
  const came: string[] = []
  moments.next('tasks', 'worker', () => came.push('worker'))
  moments.next('tasks', undefined, () => came.push('any'))
  const stopWaiting = moments.next('rules', 'worker', () => came.push('rules'))
  moments.happened('tasks', 'overlord')
  assert.deepEqual(came, ['any'])
  moments.happened('tasks', 'worker')
  moments.happened('tasks', 'worker')
  assert.deepEqual(came, ['any', 'worker'])
  assert.equal(stopWaiting(), true)
  assert.equal(stopWaiting(), false)
  moments.happened('rules', 'worker')
  assert.deepEqual(came, ['any', 'worker'])
})

test('a server that does not announce itself is gone until it does again', () => {
  let nowMs = 0
  const presence = new Presence(3000, () => nowMs)
  presence.noteAnnounced('worker')
  nowMs = 3000
  assert.deepEqual([presence.isSince('worker', 0), presence.wasGone('worker', 1000)], [true, false])
  nowMs = 3001
  assert.deepEqual([presence.isSince('worker', 0), presence.wasGone('worker', 1000)], [false, true])
  presence.noteAnnounced('worker')
  assert.deepEqual([presence.isSince('worker', 0), presence.isSince('worker', 3001)], [false, true])
  nowMs = 5000
  assert.deepEqual([presence.wasGone('worker', 1000), presence.wasGone('worker', 5000)], [false, true])
  assert.equal(presence.isSince('unknown', 5000), false)
})
