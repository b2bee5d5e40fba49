import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, beforeEach, describe, it } from 'node:test'
import { parseCompactionConfig, stateAfter } from '@svc/domain/compaction'
import { payloadOf, type Segment, segmentId } from '@svc/domain/segment'
import { type Interval, parseInterval } from '@svc/domain/time'
import { createCompactionPlanner } from '@svc/shared/compaction'
import {
  changeClusterCompactionConfig,
  copySegments,
  markUnused,
  saveCompactionConfig,
  saveCompactionState,
  saveCompactionSupervisor,
  saveTask,
  sql,
  suspendCompactionSupervisor,
} from '@svc/shared/postgres'
import { createTestContext, createTestStores, httpRequest } from '@svc/shared/testing'
import { compactionStatusRoutes } from './compaction-status.ts'

const stores = await createTestStores({ after })
const { database } = stores
const context = await createTestContext({ after }, stores, 'overlord')
const author = { author: 'ann', comment: 'why', identity: 'admin', ip: '127.0.0.1' }
const now = Date.UTC(2026, 0, 1)
const path = '/svc/indexer/v1/compaction'

before(() => context.serve({ routes: compactionStatusRoutes(createCompactionPlanner(context), context) }))
beforeEach(async () => {
  // All tests share the planner, which reads segment_removals to follow removals.
  for (const table of (await tables()).filter((name) => name !== 'segment_removals')) {
    await database.query(sql([`DELETE FROM "${table}"`]))
  }
})

async function tables(): Promise<string[]> {
  const rows = await database.query<{ name: string }>(sql`
    SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public'
      AND table_type = 'BASE TABLE' AND table_name NOT IN ('pgmigrations', 'nodes', 'tasks', 'security_version')
    UNION ALL SELECT 'tasks'`)
  return rows.map(({ name }) => name)
}

const configOf = (more: object = {}) =>
  parseCompactionConfig({ dataSource: 'wiki', skipOffsetFromLatest: 'PT0S', ...more })

/** Stores segments of 100 bytes each, with the compaction state of a configuration if one is given. */
async function store(
  intervals: readonly string[],
  compactedAs?: ReturnType<typeof configOf>,
  dataSource = 'wiki',
) {
  const segments = intervals.map((text): Segment => {
    const key = { dataSource, interval: parseInterval(text), version: '1', partitionNum: 0 }
    return { ...key, id: segmentId(key), partitions: 1, sizeBytes: 100, totalRows: 10 }
  })
  await database.transaction(async (transaction) => {
    const state =
      compactedAs &&
      (await saveCompactionState(transaction, {
        dataSource,
        state: stateAfter(compactedAs),
      }))
    const loadSpec = { type: 'local', path: 'x', checksum: 'sha256:00' } as const
    await copySegments(
      transaction,
      segments.map((segment) => ({
        segment,
        payload: payloadOf(segment, { loadSpec, dimensions: '', metrics: '' }),
        ...(state === undefined ? {} : { compactionState: state.id }),
      })),
      undefined,
      now,
    )
  })
  return segments
}

async function storeTask(id: string, state: string, interval: Interval): Promise<void> {
  await saveTask(database, {
    id,
    groupId: id,
    type: 'index_parallel',
    dataSource: 'wiki',
    priority: 1,
    payload: {},
    submittedBy: 'ann',
  })
  await database.query(sql`UPDATE tasks SET state = ${state} WHERE id = ${id}`)
  await database.query(sql`
    INSERT INTO task_locks (task_id, datasource, start_ms, end_ms, priority)
    VALUES (${id}, 'wiki', ${interval.start}, ${interval.end}, 50)`)
}

const get = async (rest: string) =>
  (await httpRequest(context.port, { path: `${path}${rest}` })).json as never
const figures = async (): Promise<number[][]> => {
  const { latestStatus } = (await get('/status/datasources')) as { latestStatus: Record<string, number>[] }
  return latestStatus.map((status) => [
    status.segmentCountAwaitingCompaction as number,
    status.segmentCountCompacted as number,
    status.segmentCountSkipped as number,
  ])
}
const days = ['2026-01-01/P1D', '2026-01-02/P1D', '2026-01-03/P1D', '2026-01-04/P1D'] as const

describe('the compaction status', () => {
  it('is always up to date', async () => {
    assert.deepEqual(await get('/status/datasources'), { latestStatus: [] })
    await saveCompactionConfig(database, configOf(), author, now)
    assert.deepEqual(await figures(), [[0, 0, 0]])
    const [first] = await store(days.slice(0, 2))
    assert.deepEqual(await figures(), [[2, 0, 0]])
    await store(days.slice(2), configOf())
    assert.deepEqual(await figures(), [[2, 2, 0]])
    await storeTask('index', 'RUNNING', parseInterval('2026-01-01T12:00/PT1H'))
    assert.deepEqual(await figures(), [[1, 2, 1]])
    await database.query(sql`DELETE FROM tasks`)
    await markUnused(database, [first?.id as string], { kind: 'request', identity: 'me' }, now)
    assert.deepEqual(await figures(), [[1, 2, 0]])
    await saveCompactionConfig(database, configOf({ skipOffsetFromLatest: 'P1D' }), author, now)
    assert.deepEqual(await figures(), [[1, 1, 1]])
    await saveCompactionConfig(database, configOf({ maxRowsPerSegment: 5 }), author, now)
    assert.deepEqual(await figures(), [[3, 0, 0]])
    await database.query(sql`DELETE FROM segments WHERE NOT used OR start_ms > ${Date.UTC(2026, 0, 2)}`)
    assert.deepEqual(await figures(), [[1, 0, 0]])
    await saveCompactionConfig(database, parseCompactionConfig({ dataSource: 'other' }), author, now)
    await store(['2026-01-01/P1D'], undefined, 'other')
    assert.deepEqual(await figures(), [
      [0, 0, 1],
      [1, 0, 0],
    ])
  })

  it('has zero or one entry, and lists the intervals with [full]', async () => {
    await saveCompactionConfig(database, configOf({ inputSegmentSizeBytes: 150 }), author, now)
    await store([days[0], days[1]])
    await store([days[2]], configOf())
    assert.deepEqual(await get('/status/datasources/nosuch'), { latestStatus: [] })
    const [status] = ((await get('/status/datasources/wiki?full')) as { latestStatus: never[] }).latestStatus
    const interval = (day: number) => `2026-01-0${day}T00:00:00.000Z/2026-01-0${day + 1}T00:00:00.000Z`
    const awaiting = (day: number) => ({
      interval: interval(day),
      compactionInterval: interval(day),
      bytes: 100,
      segments: 1,
      mode: 'ALL_SEGMENTS',
      slots: 1,
      // There are no workers.
      reason:
        'not compacted yet; compacting this interval needs at least [1] task slots, but compaction can use only [0]',
    })
    assert.deepEqual(status, {
      dataSource: 'wiki',
      scheduleStatus: 'RUNNING',
      message: null,
      bytesAwaitingCompaction: 200,
      bytesCompacted: 100,
      bytesSkipped: 0,
      segmentCountAwaitingCompaction: 2,
      segmentCountCompacted: 1,
      segmentCountSkipped: 0,
      intervalCountAwaitingCompaction: 2,
      intervalCountCompacted: 1,
      intervalCountSkipped: 0,
      intervals: {
        awaiting: [awaiting(2), awaiting(1)],
        skipped: [],
        compacted: [{ interval: interval(3), bytes: 100, segments: 1 }],
      },
    })
  })

  it('uses supervisors that are not suspended, if supervisors run compaction', async () => {
    await saveCompactionConfig(database, configOf(), author, now)
    await changeClusterCompactionConfig(
      database,
      (present) => ({ ...present, useSupervisors: true }),
      author,
      now,
    )
    assert.deepEqual(await figures(), [])
    await saveCompactionSupervisor(database, { config: configOf(), suspended: false }, author, now)
    await store(days)
    assert.deepEqual(await figures(), [[4, 0, 0]])
    await suspendCompactionSupervisor(database, 'autocompact__wiki', true, author, now)
    assert.deepEqual(await figures(), [])
  })
})

describe('a compaction preview', () => {
  const simulate = (body: unknown, query = '') =>
    httpRequest(context.port, { method: 'POST', path: `${path}/simulate${query}`, body })

  /** Returns every row of every table. The table of nodes is left out, because it changes with every heartbeat. */
  async function allTables(): Promise<unknown> {
    const contents = []
    for (const table of await tables()) {
      const rows = await database.query<{ row: string }>(
        sql([`SELECT t::text AS row FROM "${table}" t ORDER BY 1`]),
      )
      contents.push([table, rows.map(({ row }) => row)])
    }
    return contents
  }

  it('makes the same decisions as Druid 37', async () => {
    const file = new URL('../../../../test/fixtures/vectors/compaction.jsonl', import.meta.url)
    const lines = readFileSync(file, 'utf8').trim().split('\n')
    for (const [index, line] of lines.entries()) {
      if (index % 10 !== 0) continue
      const { policy, configs, segments, candidates, stats } = JSON.parse(line)
      const answer = await simulate({
        clusterConfig: { compactionPolicy: policy },
        compactionConfigs: Object.values(configs),
        segments,
      })
      const found = answer.json as { candidates: Record<string, unknown>[]; stats: Record<string, object> }
      assert.deepEqual(
        found.candidates.map(({ slots: _, reason: __, ...candidate }) => candidate),
        candidates,
      )
      assert.deepEqual(
        Object.entries(found.stats).map(
          ([name, { awaiting: _, ...counted }]: [string, { awaiting?: object }]) => [name, counted],
        ),
        Object.entries(stats).sort(),
      )
    }
  })

  it('uses the current state of the cluster by default, and changes nothing', async () => {
    await saveCompactionConfig(database, configOf(), author, now)
    await store(days.slice(0, 2))
    await store([days[2]], configOf())
    await storeTask('index', 'RUNNING', parseInterval(days[0]))
    const before = await allTables()
    const taken = async (body: object): Promise<string[]> => {
      const { json, status, text } = await simulate(body)
      assert.equal(status, 200, text)
      return (json as { candidates: { interval: string }[] }).candidates.map(({ interval }) =>
        interval.slice(8, 10),
      )
    }
    assert.deepEqual(await taken({}), ['02'])
    assert.deepEqual(await taken({ compactionTaskSlotRatio: 0.1, maxCompactionTaskSlots: 10 }), ['02'])
    const other = { dataSource: 'wiki', skipOffsetFromLatest: 'PT0S', maxRowsPerSegment: 3 }
    assert.deepEqual(await taken({ compactionConfigs: [other] }), ['03', '02'])
    const fixed = { type: 'fixedIntervalOrder', eligibleCandidates: [] }
    assert.deepEqual(await taken({ clusterConfig: { compactionPolicy: fixed } }), ['02'])
    assert.deepEqual(await taken({ segments: [] }), [])
    const brief = await simulate({ compactionConfigs: [other] }, '?brief')
    const { candidates, eligible, skipped, stats } = brief.json as {
      candidates: { interval: string; eligible: boolean }[]
      eligible: object
      skipped: object[]
      stats: object
    }
    assert.deepEqual(
      candidates.map((one) => [one.interval.slice(8, 10), one.eligible, 'segments' in one]),
      [
        ['03', true, false],
        ['02', true, false],
      ],
    )
    assert.deepEqual([eligible, skipped], [{ intervals: 2, bytes: 200 }, []])
    assert.deepEqual(
      stats,
      ((await simulate({ compactionConfigs: [other] })).json as { stats: object }).stats,
    )
    for (const bad of [
      [],
      { segments: 3 },
      { compactionConfigs: [{ dataSource: 'a', engine: 'msq' }] },
      { foo: 1 },
    ]) {
      const { status, json } = await simulate(bad)
      assert.deepEqual([status, (json as { errorCode: string }).errorCode], [400, 'invalidInput'])
    }
    assert.deepEqual(await allTables(), before)
  })
})

describe('a compaction schedule', () => {
  const schedule = async (body: unknown) => {
    const { status, json } = await httpRequest(context.port, {
      method: 'POST',
      path: `${path}/schedule`,
      body,
    })
    assert.equal(status, 200)
    return json as CompactionScheduleAnswer
  }

  it('compares the configuration of the cluster with the given one, other policies, and supervisors', async () => {
    await saveCompactionConfig(database, configOf(), author, now)
    const supervised = configOf({ taskPriority: 30, inputSegmentSizeBytes: 10 })
    await saveCompactionSupervisor(database, { config: supervised, suspended: false }, author, now)
    await store(days.slice(0, 2))
    const { variants } = await schedule({ clusterConfig: { compactionTaskSlotRatio: 0 } })
    assert.deepEqual(
      variants.map(({ name, driver }) => [name, driver]),
      [
        ['current', 'duty'],
        ['given', 'duty'],
        ['mostFragmentedFirst', 'duty'],
        ['migrated', 'supervisors'],
        ['supervisors', 'supervisors'],
      ],
    )
    const [current, given, fragmented, migrated, supervisors] = variants
    assert.deepEqual(
      [migrated?.configDifferences, migrated?.differences, migrated?.runs],
      [[], [], current?.runs],
    )
    assert.equal(current?.differences, undefined)
    assert.deepEqual([given?.tooFewSlots, given?.runs], [2, []])
    assert.deepEqual(
      new Set(fragmented?.differences?.map(({ after }) => after)),
      new Set(['TOO_FEW_UNCOMPACTED_SEGMENTS']),
    )
    assert.deepEqual(
      supervisors?.configDifferences?.map(({ dataSource, fields }) => [dataSource, fields]),
      [['wiki', ['taskPriority', 'inputSegmentSizeBytes']]],
    )
    assert.deepEqual(
      supervisors?.differences?.map(({ after }) => after),
      ['INPUT_TOO_LARGE', 'INPUT_TOO_LARGE'],
    )
  })

  it('may assume another number of task slots, in all of its variants', async () => {
    await saveCompactionConfig(database, configOf(), author, now)
    await store(days.slice(0, 2))
    const slotsWith = async (workerCapacity: number) => {
      const { variants } = await schedule({ workerCapacity })
      assert.equal(new Set(variants.map(({ slots }) => slots)).size, 1)
      return variants[0]!.slots
    }
    assert.deepEqual([await slotsWith(0), await slotsWith(30), await slotsWith(50)], [0, 3, 5])
  })

  it('shows what a migration from supervisors to the duty changes: the duty cannot run some engines', async () => {
    await changeClusterCompactionConfig(
      database,
      (config) => ({ ...config, useSupervisors: true }),
      author,
      now,
    )
    const names = ['wiki', 'koalas']
    for (const dataSource of names) {
      const engine = dataSource === 'wiki' ? 'native' : 'msq'
      const config = configOf({ dataSource, engine })
      await saveCompactionSupervisor(database, { config, suspended: false }, author, now)
      await store(days.slice(0, 2), undefined, dataSource)
    }
    const { variants } = await schedule({})
    assert.deepEqual(
      variants.map(({ name, driver }) => `${name} ${driver}`),
      ['current supervisors', 'mostFragmentedFirst supervisors', 'migrated duty'],
    )
    const migrated = variants.at(-1)
    assert.deepEqual(
      migrated?.configDifferences?.map(({ dataSource }) => dataSource),
      ['koalas'],
    )
    assert.deepEqual(new Set(migrated?.differences?.map(({ after }) => after)), new Set(['NOT_CONFIGURED']))
  })

  it('works on given segments, and names what a given configuration rewrites', async () => {
    const segments = days.map((interval) => ({
      ...{ dataSource: 'wiki', interval, version: '1', partitionNum: 0, partitions: 1 },
      size: 100,
    }))
    const { variants, speed } = await schedule({ compactionConfigs: [{ dataSource: 'wiki' }], segments })
    assert.equal(speed, 'assumed')
    const [, given] = variants
    assert.deepEqual(given?.configDifferences, [
      { dataSource: 'wiki', fields: [], isConfiguredBefore: false, isConfiguredAfter: true },
    ])
    assert.deepEqual(
      given?.differences?.map(({ before, interval }) => [before, interval.slice(0, 10)]),
      ['2026-01-01', '2026-01-02', '2026-01-03', '2026-01-04'].map((day) => ['NOT_CONFIGURED', day]),
    )
  })
})

interface CompactionScheduleAnswer {
  readonly speed: string
  readonly variants: readonly {
    readonly name: string
    readonly driver: string
    readonly slots: number
    readonly tooFewSlots: number
    readonly runs: readonly unknown[]
    readonly configDifferences?: readonly {
      readonly dataSource: string
      readonly fields: readonly string[]
    }[]
    readonly differences?: readonly Readonly<Record<'interval' | 'before' | 'after', string>>[]
  }[]
}
