import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Call } from '../http/index.ts'
import { createCallJournal } from './index.ts'

const call = (direction: Call['direction'], second: number): Call => ({
  time: new Date(second * 1000).toISOString(),
  direction,
  from: 'broker',
  to: 'coordinator',
  method: 'GET',
  path: '/',
  tls: true,
  identity: 'svc_system',
  certificate: null,
  status: 200,
  error: null,
})

test('rejected calls do not push accepted calls out of the journal', () => {
  const journal = createCallJournal(3)
  journal.add(call('received', 0))
  for (let second = 1; second <= 8; second++) journal.add({ ...call('received', second), status: 401 })
  assert.deepEqual(
    journal.last(10).map(({ status }) => status),
    [401, 401, 401, 200],
  )
})

test('a journal keeps the last calls of each direction, newest first', () => {
  const journal = createCallJournal(3)
  assert.deepEqual(journal.last(10), [])
  journal.add(call('received', 0))
  for (let second = 1; second <= 8; second++) journal.add(call('sent', second))
  const seconds = (count: number) => journal.last(count).map(({ time }) => Date.parse(time) / 1000)
  // Sent calls do not push out the received one.
  assert.deepEqual(seconds(10), [8, 7, 6, 0])
  assert.deepEqual(seconds(2), [8, 7])
})

test('a cleared journal is empty, and records again', () => {
  const journal = createCallJournal(2)
  for (let second = 0; second < 3; second++) journal.add(call('sent', second))
  journal.clear()
  assert.deepEqual(journal.last(10), [])
  for (let second = 3; second < 5; second++) journal.add(call('sent', second))
  assert.equal(journal.last(10).length, 2)
})
