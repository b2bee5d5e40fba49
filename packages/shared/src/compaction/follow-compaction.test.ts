import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { recordingLogger, waitUntil } from '../testing/index.ts'
import { type CompactionDriver, followCompaction } from './index.ts'
import type { LivePlan } from './planner.ts'

function follow(scope: TestContext, given: { isLeader?: boolean; driver?: CompactionDriver } = {}) {
  const state = { isLeader: false, driver: 'supervisors', isBroken: false, turns: 0, plans: 0, ...given }
  const logger = recordingLogger()
  const planner = {
    driver: async () => state.driver as CompactionDriver,
    plan: async (driver?: CompactionDriver) => {
      assert.equal(driver, 'supervisors')
      if (state.isBroken) throw new Error('the store is down')
      state.plans += 1
      return {} as LivePlan
    },
  }
  const isLeader = (): boolean => {
    state.turns += 1
    return state.isLeader
  }
  const loop = followCompaction(planner, 'supervisors', isLeader, { periodMs: 1, logger })
  scope.after(() => loop.stop())
  const untilTurns = (more: number): Promise<unknown> => {
    const wanted = state.turns + more
    return waitUntil('more turns', () => state.turns >= wanted)
  }
  return { state, logger, untilTurns }
}

describe('a standby that follows compaction', () => {
  it('plans again and again until it is the leader, whose duties plan', async (scope) => {
    const { state, untilTurns } = follow(scope)
    await waitUntil('three plans', () => state.plans >= 3)
    state.isLeader = true
    await untilTurns(1)
    const { plans } = state
    await untilTurns(3)
    assert.equal(state.plans, plans)
    state.isLeader = false
    await waitUntil('another plan', () => state.plans > plans)
  })

  it('plans nothing while something else runs compaction', async (scope) => {
    const { state, untilTurns } = follow(scope, { driver: 'duty' })
    await untilTurns(3)
    assert.equal(state.plans, 0)
  })

  it('logs once that it fails, and once that it works again', async (scope) => {
    const { state, logger, untilTurns } = follow(scope)
    state.isBroken = true
    const failed = 'Failed to read what to compact as a standby'
    await waitUntil('a failure', () => logger.having(failed).length === 1)
    await untilTurns(3)
    assert.equal(logger.having(failed).length, 1)
    state.isBroken = false
    await waitUntil(
      'it works',
      () => logger.having('Resumed reading what to compact as a standby').length === 1,
    )
  })
})
