import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { parseClusterConfig, parseCompactionConfig } from './config/index.ts'
import { compactionSlots, grantSlots, slotDemand } from './index.ts'

describe('the slots of one job', () => {
  const range = { type: 'range', targetRowsPerSegment: 1000, partitionDimensions: ['a'] }
  for (const { name, config, expected } of [
    { name: 'are 1 by default', config: {}, expected: [1, 1, 1] },
    {
      name: 'are 1 without subtasks',
      config: { tuningConfig: { maxNumConcurrentSubTasks: 1 } },
      expected: [1, 1, 1],
    },
    {
      name: 'include the subtasks and the job itself',
      config: { tuningConfig: { maxNumConcurrentSubTasks: 4 } },
      expected: [5, 5, 1],
    },
    {
      name: 'include a single subtask with range partitions',
      config: { tuningConfig: { maxNumConcurrentSubTasks: 1, partitionsSpec: range } },
      expected: [2, 2, 1],
    },
    { name: 'are 2 to 5 with msq, depending on free slots', config: { engine: 'msq' }, expected: [2, 5, 2] },
    {
      name: 'are maxNumTasks with msq',
      config: { engine: 'msq', taskContext: { maxNumTasks: 3 } },
      expected: [3, 3, 2],
    },
  ]) {
    it(name, () => {
      const { min, max, floor } = slotDemand(
        { engine: 'native' },
        parseCompactionConfig({ dataSource: 'wiki', ...config }),
      )
      assert.deepEqual([min, max, floor], expected)
    })
  }
})

describe('the total slots of compaction', () => {
  for (const [ratio, max, workers, minSlotsOfJobs, expected] of [
    [0.1, 100, 40, 1, 4],
    [0.1, 3, 40, 1, 3],
    [0.1, 100, 4, 1, 1],
    [0.1, 100, 4, 2, 2],
    [0.1, 1, 4, 2, 1],
    [0, 100, 40, 1, 0],
    [1, 100, 0, 1, 0],
  ] as const) {
    it(`are ${expected} with ratio ${ratio}, max ${max}, and ${workers} worker slots`, () => {
      const cluster = parseClusterConfig({ compactionTaskSlotRatio: ratio, maxCompactionTaskSlots: max })
      assert.equal(compactionSlots(cluster, workers, minSlotsOfJobs), expected)
    })
  }
})

describe('granting slots', () => {
  const one = { min: 1, max: 1, floor: 1 }
  const five = { min: 5, max: 5, floor: 1 }
  const elastic = { min: 2, max: 5, floor: 2 }
  const grant = (demands: readonly (typeof one)[], capacity: number, taken: number) =>
    grantSlots(
      demands.map((demand, job) => ({ job, demand })),
      capacity,
      taken,
    ).map(({ job, slots }) => [job, slots])
  for (const { name, demands, capacity, taken, expected } of [
    {
      name: 'grants slots in order until none are left',
      demands: [one, one, one],
      capacity: 3,
      taken: 1,
      expected: [
        [0, 1],
        [1, 1],
      ],
    },
    {
      name: 'grants nothing to jobs after a job that waits for more slots',
      demands: [five, one],
      capacity: 6,
      taken: 2,
      expected: [],
    },
    {
      name: 'grants all slots to a job that requires more than the capacity',
      demands: [five, one],
      capacity: 3,
      taken: 0,
      expected: [[0, 3]],
    },
    {
      name: 'skips a job whose minimum exceeds the capacity',
      demands: [elastic, one],
      capacity: 1,
      taken: 0,
      expected: [[1, 1]],
    },
    {
      name: 'grants all free slots to a job with a flexible demand',
      demands: [one, elastic],
      capacity: 4,
      taken: 0,
      expected: [
        [0, 1],
        [1, 3],
      ],
    },
    {
      name: 'grants nothing while all slots are in use',
      demands: [one],
      capacity: 2,
      taken: 3,
      expected: [],
    },
  ]) {
    it(name, () => assert.deepEqual(grant(demands, capacity, taken), expected))
  }

  it('never exceeds the capacity, and eventually runs every job', () => {
    const demand = fc
      .record({ min: fc.integer({ min: 1, max: 9 }), more: fc.nat(3), floor: fc.constantFrom(1, 2) })
      .map(({ min, more, floor }) => ({
        min: Math.max(min, floor),
        max: Math.max(min, floor) + more,
        floor,
      }))
    fc.assert(
      fc.property(
        fc.array(demand, { maxLength: 12 }),
        fc.integer({ min: 2, max: 8 }),
        (demands, capacity) => {
          let waiting = demands.map((one, job) => ({ job, demand: one }))
          const running: number[] = []
          for (let round = 0; waiting.length > 0; round++) {
            assert.ok(round <= 2 * demands.length, 'a job waits forever')
            const taken = running.reduce((sum, slots) => sum + slots, 0)
            const granted = grantSlots(waiting, capacity, taken)
            running.push(...granted.map(({ slots }) => slots))
            assert.ok(running.reduce((sum, slots) => sum + slots, 0) <= capacity)
            waiting = waiting.slice(granted.length)
            running.shift()
          }
        },
      ),
    )
  })
})
