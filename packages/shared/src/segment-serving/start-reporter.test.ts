import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Discovery } from '../discovery/index.ts'
import { recordingLogger, waitUntil } from '../testing/index.ts'
import { startReporter } from './index.ts'

test('a server reports to a new leader without waiting for the next period', async () => {
  const watchers = new Set<() => void>()
  const discovery: Pick<Discovery, 'onNewLeader'> = {
    onNewLeader: (role, callback) => {
      assert.equal(role, 'coordinator')
      watchers.add(callback)
      return () => watchers.delete(callback)
    },
  }
  let reports = 0
  const reporter = startReporter(
    { discovery: discovery as Discovery, logger: recordingLogger(), stopping: new AbortController().signal },
    { report: async () => void reports++, periodMs: 3_600_000 },
  )
  await waitUntil('the first report', () => reports === 1)
  for (const callback of watchers) callback()
  await waitUntil('the report to the new leader', () => reports === 2)
  await reporter.stop()
  assert.equal(watchers.size, 0)
})
