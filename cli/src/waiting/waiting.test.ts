import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { cancelled, invalidInput, unavailable } from '@svc/domain/failure'
import { testClient } from '../testing/index.ts'
import {
  clusterIsKnown,
  clusterIsSettled,
  compactionIsDone,
  leadersAnswer,
  rulesAreEvaluated,
  segmentsAreLoaded,
  tasksAreDone,
  waitUntil,
  watch,
} from './index.ts'

const { signal } = new AbortController()
const coordinator = 'GET /svc/coordinator/v1'

describe('waiting', () => {
  it('ends when nothing is lacking, even after the cluster was unavailable', async () => {
    const answers: (() => readonly string[])[] = [
      () => {
        throw unavailable('away')
      },
      () => ['one'],
      () => [],
    ]
    const waitedMs = await waitUntil(async () => answers.shift()!(), { timeoutMs: 60_000, signal })
    assert.ok(waitedMs > 0)
    assert.equal(answers.length, 0)
  })

  it('times out with what is lacking', async () => {
    const options = { timeoutMs: 1, signal }
    await assert.rejects(
      waitUntil(async () => ['one', 'two'], options),
      { code: 'timedOut', message: 'Timed out after 0.0 s: one; two' },
    )
    const away = async () => {
      throw unavailable('away')
    }
    await assert.rejects(waitUntil(away, options), { code: 'timedOut', message: /away$/ })
  })

  it('ends at once if waiting cannot help, or when it is interrupted', async () => {
    const wrong = async () => {
      throw invalidInput('wrong')
    }
    await assert.rejects(waitUntil(wrong, { timeoutMs: 60_000, signal }), { code: 'invalidInput' })
    const stopped = AbortSignal.abort(cancelled('Interrupted'))
    await assert.rejects(
      waitUntil(async () => ['one'], { timeoutMs: 60_000, signal: stopped }),
      {
        code: 'cancelled',
      },
    )
  })
})

it('watching shows a text again when it changes, and ends if nobody reads it anymore', async () => {
  let shown = ''
  const write = (text: unknown): boolean => {
    shown += String(text)
    return true
  }
  const isRead = () => !shown.includes('two')
  const texts = ['one', 'one', 'two', 'three']
  await watch(async () => texts.shift()!, { out: { write }, isRead, isInPlace: false, periodMs: 1 })
  assert.equal(shown, 'one\ntwo\n')
})

describe('the state of a cluster', () => {
  const clientOf = (
    known: boolean,
    settled: boolean,
    shortages: readonly string[] = [],
    scheduled?: readonly string[],
  ) =>
    testClient({
      [`${coordinator}/clusterState`]: {
        known,
        settled,
        reasons: settled ? [] : ['why'],
        shortages,
        ...(scheduled && { scheduled }),
      },
    })
  it('is known once the leader knows it', async () => {
    assert.deepEqual(await clusterIsKnown(clientOf(false, false))(), ['why'])
    assert.deepEqual(await clusterIsKnown(clientOf(true, false))(), [])
  })

  it('is settled, with its shortages and with what it does later', async () => {
    const noted: string[] = []
    const settled = (client: ReturnType<typeof testClient>) =>
      clusterIsSettled(client, (notices) => noted.push(...notices))()
    assert.deepEqual(await settled(clientOf(true, false, ['a'])), ['why'])
    assert.deepEqual(noted, [])
    assert.deepEqual(await settled(clientOf(true, true, ['a'])), [])
    assert.deepEqual(noted, ['a'])
    assert.deepEqual(await settled(clientOf(true, true, ['b'], ['c'])), [])
    assert.deepEqual(noted, ['a', 'b', 'c'])
  })
})

describe('a cluster', () => {
  const simple = { [`${coordinator}/loadstatus?simple`]: { x: 1, y: 0 } }
  const full = { [`${coordinator}/loadstatus?full`]: { hot: { x: 1, y: 0 }, cold: { x: 2, y: 0 } } }
  const client = testClient({ ...simple, ...full })
  for (const [dataSource, allReplicas, lacking] of [
    [undefined, false, ['1 segment of datasource [x] is not loaded']],
    ['y', false, []],
    ['z', false, ['datasource [z] has no used segments']],
    ['x', true, ['datasource [x] is missing 3 replicas']],
    ['y', true, []],
  ] as const)
    it(`is loaded: [${dataSource}] ${allReplicas ? 'with all replicas' : ''} lacks [${lacking}]`, async () => {
      assert.deepEqual(await segmentsAreLoaded(client, { dataSource, allReplicas })(), lacking)
    })

  it('is done with tasks if none is running, pending, or waiting', async () => {
    const tasks = testClient({
      'GET /svc/indexer/v1/tasks?state=running': [{}, {}],
      'GET /svc/indexer/v1/tasks?state=pending': [],
      'GET /svc/indexer/v1/tasks?state=waiting': [{}],
    })
    assert.deepEqual(await tasksAreDone(tasks, undefined)(), ['2 tasks are running', '1 task is waiting'])
  })

  const statusOf = (dataSource: string, count: number) => ({
    dataSource,
    intervalCountAwaitingCompaction: count,
  })
  const compacting = (counts: readonly [x: number, y: number, tasks: number]) =>
    testClient({
      'GET /svc/indexer/v1/compaction/status/datasources': {
        latestStatus: [statusOf('x', counts[0]), statusOf('y', counts[1])],
      },
      ...Object.fromEntries(
        ['', '&datasource=y'].flatMap((query) =>
          ['running', 'pending', 'waiting'].map((state) => [
            `GET /svc/indexer/v1/tasks?state=${state}&type=compact${query}`,
            Array(state === 'running' ? counts[2] : 0).fill({}),
          ]),
        ),
      ),
    })
  for (const [counts, dataSource, lacking] of [
    [[2, 0, 0], undefined, ['2 intervals of datasource [x] await compaction']],
    [[2, 0, 0], 'y', []],
    [[0, 0, 1], 'y', ['1 task is running']],
    [[0, 0, 0], undefined, []],
    [[0, 0, 0], 'z', ['auto-compaction is not enabled for datasource [z]']],
  ] as const)
    it(`is compacted with the counts [${counts}] of [${dataSource}]: lacks [${lacking}]`, async () => {
      assert.deepEqual(await compactionIsDone(compacting(counts), dataSource)(), lacking)
    })

  it('is ready at a URL if the leaders answer and there is a broker', async () => {
    const answers = {
      [`${coordinator}/leader`]: 'a',
      'GET /svc/indexer/v1/leader': 'b',
      'GET /svc/router/v1/brokers': { brokers: ['c'] },
    }
    assert.deepEqual(await leadersAnswer(testClient(answers))(), [])
    const without = { ...answers, 'GET /svc/router/v1/brokers': { brokers: [] } }
    assert.deepEqual(await leadersAnswer(testClient(without))(), ['no broker is available'])
    const leaderless = { ...answers, [`${coordinator}/leader`]: unavailable('No leader') }
    await assert.rejects(leadersAnswer(testClient(leaderless))(), { code: 'unavailable' })
  })

  it('has evaluated new rules after two complete runs of the duties', async () => {
    const runs: [start: string | null, end: string | null, isEvaluated: boolean][] = [
      ['1', '2', false],
      ['1', '2', false],
      ['3', '2', false],
      ['3', '4', false],
      ['5', '4', false],
      ['5', '6', true],
    ]
    let group = {}
    const client = { ...testClient({}), send: async () => ({ dutyGroups: [{ dutyNames: ['x'] }, group] }) }
    const condition = rulesAreEvaluated(client)
    for (const [lastRunStart, lastRunEnd, isEvaluated] of runs) {
      group = { dutyNames: ['org.apache.druid.server.coordinator.duty.RunRules'], lastRunStart, lastRunEnd }
      assert.equal((await condition()).length === 0, isEvaluated, `${lastRunStart} ${lastRunEnd}`)
    }
    assert.deepEqual(
      await rulesAreEvaluated(testClient({}))(),
      [],
      'a cluster that does not report its duties',
    )
  })
})
