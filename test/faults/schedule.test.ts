import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { dataSources, days, type FaultStep, instances, intervalOf, planSchedule } from './schedule.ts'

const seed = fc.integer({ min: 0, max: 2 ** 31 - 1 })
const seconds = fc.integer({ min: 1, max: 120 })
const endOf = ({ atMs, forMs }: FaultStep) => atMs + forMs

describe('a schedule', () => {
  it('is the same for the same seed, and different for another seed', () => {
    assert.deepEqual(planSchedule(7, 60), planSchedule(7, 60))
    assert.notDeepEqual(planSchedule(7, 60).work, planSchedule(8, 60).work)
    assert.notDeepEqual(planSchedule(7, 60).faults, planSchedule(8, 60).faults)
  })

  it('has times in order within its seconds, unique ids, and existing servers', () => {
    const servers: readonly string[] = [...Object.values(instances).flat(), 'postgres', 'redis']
    fc.assert(
      fc.property(seed, seconds, (number, duration) => {
        const { work, faults } = planSchedule(number, duration)
        for (const steps of [work, faults]) {
          assert.deepEqual(
            steps.map(({ atMs }) => atMs),
            steps.map(({ atMs }) => atMs).sort((a, b) => a - b),
          )
          assert.equal(new Set(steps.map(({ id }) => id)).size, steps.length)
        }
        for (const { atMs, to } of work) assert.ok(atMs < duration * 1000 && servers.includes(to))
        for (const step of faults) {
          assert.ok(endOf(step) <= duration * 1000)
          const { fault } = step
          if (fault.kind !== 'fillDisk') assert.ok(servers.includes(fault.target), fault.target)
          if ('to' in fault) assert.ok(servers.includes(fault.to) && fault.to !== fault.target)
        }
      }),
    )
  })

  it('has at most two faults at a time', () => {
    fc.assert(
      fc.property(seed, (number) => {
        const { faults } = planSchedule(number, 60)
        for (const { atMs } of faults) {
          const active = faults.filter((other) => other.atMs <= atMs && atMs < endOf(other))
          assert.ok(active.length <= 2)
        }
      }),
    )
  })

  it('does not change the stable datasource, drops only in one datasource, and erases only in another', () => {
    fc.assert(
      fc.property(seed, (number) => {
        for (const { work } of planSchedule(number, 60).work) {
          const writes = work.kind !== 'query' && work.kind !== 'readRules'
          if ('dataSource' in work && writes) assert.notEqual(work.dataSource, dataSources.stable)
          if (work.kind === 'kill') assert.equal(work.dataSource, dataSources.erased)
          if (work.kind === 'setRules' && work.rules.some(({ type }) => type === 'dropByInterval'))
            assert.equal(work.dataSource, dataSources.ruled)
          if (work.kind === 'setRules') {
            const last = work.rules.at(-1)
            assert.ok(last?.type === 'loadForever' && (last.tieredReplicants._default_tier ?? 0) >= 1)
          }
        }
      }),
    )
  })

  it('contains every kind of work and fault over some seeds', () => {
    const schedules = Array.from({ length: 20 }, (_, index) => planSchedule(index, 60))
    const kinds = new Set(schedules.flatMap(({ work }) => work.map((step) => step.work.kind)))
    assert.equal(kinds.size, 10)
    const faults = new Set(schedules.flatMap((schedule) => schedule.faults.map(({ fault }) => fault.kind)))
    assert.equal(faults.size, 8)
  })
})

it('ends the interval of a day where the next one begins', () => {
  assert.equal(intervalOf(days[0]!), '2026-01-01T00:00:00.000Z/2026-01-02T00:00:00.000Z')
})
