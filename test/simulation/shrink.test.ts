import assert from 'node:assert/strict'
import { test } from 'node:test'
import { planSimulation, type SimulationPlan } from './schedule.ts'
import { cutPlan, shrinkPlan } from './shrink.ts'

const plan = planSimulation(3, 5)
const idsOf = (steps: readonly { readonly id: string }[]): string[] => steps.map(({ id }) => id)

test('a plan shrinks to the steps that make it fail', async () => {
  const faults = [plan.faults.at(2)!.id, plan.faults.at(-1)!.id]
  const work = plan.work.at(20)!.id
  let runs = 0
  const fails = async (tried: SimulationPlan): Promise<boolean> => {
    runs += 1
    const ids = new Set([...idsOf(tried.faults), ...idsOf(tried.work)])
    return [...faults, work].every((id) => ids.has(id))
  }
  const { seed, ...small } = await shrinkPlan(plan, fails)
  assert.deepEqual([seed, idsOf(small.faults), idsOf(small.work)], [plan.seed, faults, [work]])
  assert.deepEqual([small.decommissioning, small.cancellations], [[], []])
  assert.ok(runs < 100, `${runs} runs`)
})

test('a plan is cut after some time', () => {
  const untilMs = plan.faults.at(1)!.atMs
  const cut = cutPlan(plan, untilMs)
  assert.deepEqual(idsOf(cut.faults), idsOf(plan.faults.slice(0, 2)))
  assert.ok(cut.work.every(({ atMs }) => atMs <= untilMs))
})
