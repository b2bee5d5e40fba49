import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { parseCompactionConfig } from '@svc/domain/compaction'
import { createCompactionPlanner, submitCompactions } from '@svc/shared/compaction'
import { createDutyGroup } from '@svc/shared/duties'
import {
  acquireLease,
  changeClusterCompactionConfig,
  deleteCompactionConfig,
  loadCompactTasks,
  loadSegmentRecords,
  saveCompactionConfig,
  saveCompactionSupervisor,
  saveTask,
  suspendCompactionSupervisor,
} from '@svc/shared/postgres'
import { indexTask, rowsOf, waitUntil } from '@svc/shared/testing'
import { ended, openTaskStores, startWorker } from '../testing/test-worker.ts'
import { runSupervisors } from './run-supervisors.ts'

const { stores, database, folders } = await openTaskStores({ after })
const author = { author: 'ann', comment: 'why', identity: 'admin', ip: '127.0.0.1' }
const timeoutMs = 120_000
const worker = await startWorker({ after }, stores, folders, { capacity: 2 })

before(async () => {
  const { context } = worker
  const node = { ...context.node(), details: { workerCapacity: 2 } }
  await context.discovery.announce(node)
  const candidate = { role: 'overlord', holder: 'test', node: node.name, baseUrl: `http://${node.name}` }
  assert.equal((await acquireLease(database, candidate, 600_000)).term, 1)
  await context.discovery.refresh()
})

/** Ingests days with two segments each. */
async function appendDays(dataSource: string, ...days: number[]): Promise<void> {
  for (let round = 0; round < 2; round++) {
    const id = await worker.submit(indexTask(dataSource, rowsOf(...days), { appendToExisting: round > 0 }))
    assert.equal((await ended(stores, id, timeoutMs))?.state, 'SUCCESS')
  }
}

const configOf = (dataSource: string, more: object = {}) =>
  parseCompactionConfig({ dataSource, skipOffsetFromLatest: 'PT0S', ...more })
const setCluster = (more: { useSupervisors: boolean; compactionTaskSlotRatio: number }) =>
  changeClusterCompactionConfig(database, (present) => ({ ...present, ...more }), author, Date.now())
const tasksOf = async (dataSource: string) =>
  (await loadCompactTasks(database, 0))
    .filter((task) => task.dataSource === dataSource)
    .map(({ interval, state }) => `${interval?.slice(8, 10)} ${state}`)
    .sort()
const usedSegments = async (dataSource: string): Promise<number> =>
  (await loadSegmentRecords(database, { dataSource, used: true })).length

describe('compaction by the coordinator duty', () => {
  it('compacts every interval once, and never exceeds its slots', async () => {
    const planner = createCompactionPlanner(worker.context)
    const submit = () => submitCompactions(worker.context, planner, 'duty', () => true)
    await setCluster({ useSupervisors: false, compactionTaskSlotRatio: 0.5 })
    await appendDays('once', 1, 2, 3)
    await saveCompactionConfig(database, configOf('once'), author, Date.now())
    assert.deepEqual(await submit(), { submitted: 1, postponed: 0 })
    const { plan } = await planner.plan('duty')
    assert.equal(plan.slots, 1)
    await waitUntil(
      'everything is compacted',
      async () => {
        await submit()
        assert.ok((await tasksOf('once')).filter((task) => /PENDING|RUNNING/.test(task)).length <= 1)
        return (await planner.plan('duty')).plan.progress.get('once')?.compacted.intervals
      },
      (intervals) => intervals === 3,
      { timeoutMs },
    )
    assert.equal(await submit(), undefined)
    assert.deepEqual(await tasksOf('once'), ['01 SUCCESS', '02 SUCCESS', '03 SUCCESS'])
  })

  it('continues with other intervals if one fails, and delays retrying the failed one', async () => {
    const planner = createCompactionPlanner(worker.context)
    await appendDays('failing', 1, 2, 3)
    const [first] = await loadSegmentRecords(database, { dataSource: 'failing', order: 'DESC', limit: 1 })
    rmSync(path.join(folders.storage, first?.payload.loadSpec.path as string))
    await saveCompactionConfig(database, configOf('failing'), author, Date.now())
    await waitUntil(
      'the others are compacted',
      async () => {
        await submitCompactions(worker.context, planner, 'duty', () => true)
        return (await planner.plan('duty')).plan.progress.get('failing')
      },
      (progress) => progress?.compacted.intervals === 2 && progress.awaiting.intervals === 1,
      { timeoutMs },
    )
    // On a slow machine, the failed interval may have been retried by now.
    const tasks = new Set(await tasksOf('failing'))
    assert.deepEqual([...tasks].slice(0, 3), ['01 SUCCESS', '02 SUCCESS', '03 FAILED'])
  })

  it('is not blocked by tasks of users that are waiting', async () => {
    const planner = createCompactionPlanner(worker.context)
    await appendDays('hogged', 1)
    await deleteCompactionConfig(database, 'failing', author, Date.now())
    const inputSpec = { type: 'interval', interval: '2030-01-01/2030-01-02' }
    const ids: string[] = []
    for (let index = 0; index < 5; index++) {
      const id = `hog ${index}`
      const payload = { type: 'compact', dataSource: 'hog', ioConfig: { inputSpec }, context: {} }
      ids.push(id)
      const task = { id, groupId: id, type: 'compact', dataSource: 'hog', priority: 25, payload }
      assert.ok(await saveTask(database, { ...task, submittedBy: 'ann' }))
    }
    await saveCompactionConfig(database, configOf('hogged'), author, Date.now())
    assert.deepEqual(await submitCompactions(worker.context, planner, 'duty', () => true), {
      submitted: 1,
      postponed: 0,
    })
    const [task] = await tasksOf('hogged')
    assert.match(task ?? '', /^01 /)
    await waitUntil(
      'the interval is compacted',
      () => tasksOf('hogged'),
      ([one]) => one === '01 SUCCESS',
      { timeoutMs },
    )
    await Promise.all(ids.map((id) => ended(stores, id, timeoutMs)))
  })

  it('submits nothing if supervisors run compaction, or after losing leadership', async () => {
    const planner = createCompactionPlanner(worker.context)
    await appendDays('left', 1)
    await saveCompactionConfig(database, configOf('left'), author, Date.now())
    assert.equal(await submitCompactions(worker.context, planner, 'supervisors', () => true), undefined)
    assert.equal(await submitCompactions(worker.context, planner, 'duty', () => false), undefined)
    await setCluster({ useSupervisors: true, compactionTaskSlotRatio: 1 })
    assert.equal(await submitCompactions(worker.context, planner, 'duty', () => true), undefined)
    assert.deepEqual(await tasksOf('left'), [])
  })
})

describe('compaction by supervisors', () => {
  it('runs while they are not suspended and this server is the leader', async (scope) => {
    await setCluster({ useSupervisors: true, compactionTaskSlotRatio: 1 })
    await appendDays('led', 1, 2)
    const before = await usedSegments('led')
    const month = configOf('led', { granularitySpec: { segmentGranularity: 'MONTH' } })
    await saveCompactionSupervisor(database, { config: month, suspended: true }, author, Date.now())
    const planner = createCompactionPlanner(worker.context)
    let term: number | undefined
    const duty = runSupervisors(worker.context, planner, (one) => one === term)
    const group = createDutyGroup('SupervisorDuties', 5000, [duty], worker.context.logger)
    group.start(1)
    scope.after(() => group.stop())
    await suspendCompactionSupervisor(database, 'autocompact__led', false, author, Date.now())
    assert.deepEqual(await tasksOf('led'), [])
    term = 1
    group.wake()
    await waitUntil(
      'the month is compacted',
      async () => (await planner.plan()).plan.progress.get('led')?.compacted,
      (compacted) => compacted?.intervals === 1,
      { timeoutMs },
    )
    assert.equal(before, 4)
    assert.deepEqual(await tasksOf('led'), ['01 SUCCESS'])
  })
})
