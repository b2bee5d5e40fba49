import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import type { DiscoveredNode } from '@svc/shared/discovery'
import { watchReported } from './reported-servers.ts'

const historical = { name: 'h:1', role: 'historical', details: { tier: 'hot' } } as unknown as DiscoveredNode

/** Tracks a cluster whose historicals the discovery knows only after a refresh, which fails the first `failures` times. */
function track({ failures = 0 } = {}) {
  let known: readonly DiscoveredNode[] = []
  let refreshes = 0
  const reporting = new Set<string>()
  const discovery = {
    nodes: () => known,
    refresh: async () => {
      refreshes += 1
      if (refreshes <= failures) throw new Error('Postgres is unavailable')
      known = [historical]
    },
  }
  const tracker = watchReported({ discovery, stopping: new AbortController().signal } as never, {
    processes: () => new Set(reporting),
    awaited: () => [],
  })
  return { tracker, report: () => reporting.add('h:1'), refreshes: () => refreshes }
}

/** Whether a promise is still pending after several polls. */
const isPending = (promise: Promise<void>): Promise<boolean> =>
  Promise.race([promise.then(() => false), setTimeout(200, true)])

test('a leader waits for servers that it does not know yet when it becomes the leader', async () => {
  const { tracker, report, refreshes } = track()
  tracker.restart()
  const reported = tracker.reported()
  assert.equal(await isPending(reported), true)
  report()
  await reported
  await tracker.reported()
  assert.equal(refreshes(), 1)
  tracker.restart()
  await tracker.reported()
  assert.equal(refreshes(), 2)
})

test('a leader does not decide while it cannot read which servers exist', async () => {
  const { tracker, report } = track({ failures: 1 })
  tracker.restart()
  await assert.rejects(tracker.reported(), /Postgres is unavailable/)
  const reported = tracker.reported()
  assert.equal(await isPending(reported), true)
  report()
  await reported
})
