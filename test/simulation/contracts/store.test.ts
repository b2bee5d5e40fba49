import assert from 'node:assert/strict'
import { after, beforeEach, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { payloadOf, type Segment, segmentId } from '@svc/domain/segment'
import * as real from '@svc/shared/postgres'
import { createTestStores } from '@svc/shared/testing'
import * as standIn from '../stand-ins/postgres/index.ts'
import { createSimulatedEnvironment } from './simulated-environment.ts'

/** A store in which a case runs. */
interface Place {
  readonly database: real.Database
  readonly functions: typeof real
  pause(ms: number): Promise<void>
}

const { sql } = real
const audit = { author: 'ann', comment: 'why', identity: 'admin', ip: '127.0.0.1' }
const dayMs = 86_400_000
const firstDay = Date.UTC(2026, 0, 1)

const candidate = (name: string) => ({
  role: 'coordinator',
  holder: `machine ${name}`,
  node: name,
  baseUrl: `http://${name}`,
})

function segment(day: number, partitionNum = 0, version = 'v1', dataSource = 'wiki'): Segment {
  const interval = { start: firstDay + day * dayMs, end: firstDay + (day + 1) * dayMs }
  const key = { dataSource, interval, version, partitionNum }
  return { ...key, id: segmentId(key), partitions: 0, sizeBytes: 10 + day, totalRows: 5 }
}

const inserted = (one: Segment) => ({
  segment: one,
  payload: payloadOf(one, {
    loadSpec: { type: 'local' as const, path: `${one.id}.parquet`, checksum: 'sha256:0' },
    dimensions: 'a',
    metrics: '',
  }),
})

const task = (id: string, more: Partial<real.NewTask> = {}): real.NewTask => ({
  id,
  groupId: id,
  type: 'kill',
  dataSource: 'wiki',
  priority: 0,
  payload: { type: 'kill', dataSource: 'wiki' },
  submittedBy: 'ann',
  ...more,
})
const worker = { name: 'worker:1', host: 'worker', port: 1, tlsPort: null }

/** Notes whether a promise has settled. */
function watch(promise: Promise<unknown>): () => boolean {
  let isSettled = false
  const settle = (): void => {
    isSettled = true
  }
  promise.then(settle, settle)
  return () => isSettled
}

const auditOf = async (
  { database, functions }: Pick<Place, 'database' | 'functions'>,
  query: real.AuditQuery,
) => (await Array.fromAsync(functions.loadAuditInPages(database, query))).flat()
const copy = ({ database, functions }: Place, segments: readonly Segment[], taskId = 'task') =>
  database.transaction((transaction) =>
    functions.copySegments(transaction, segments.map(inserted), taskId, firstDay),
  )

/** Returns a function that returns the term, or about how many seconds the lease of another candidate is still valid. */
const acquiring =
  ({ database, functions }: Place) =>
  async (by: real.Candidate, leaseMs: number) => {
    const { term, expiresInMs } = await functions.acquireLease(database, by, leaseMs)
    return term ?? `${Math.round(expiresInMs / 10_000) * 10} s`
  }

const cases: Readonly<Record<string, (place: Place) => Promise<unknown>>> = {
  'a lease has one holder, which renews and releases it': async (place) => {
    const { database, functions } = place
    const acquire = acquiring(place)
    const [a, b] = [candidate('a'), candidate('b')]
    const log: unknown[] = [
      await acquire(a, 60_000),
      await acquire(b, 60_000),
      await acquire(a, 60_000),
      await functions.renewLease(database, a, 1, 60_000),
      await functions.renewLease(database, a, 2, 60_000),
      await functions.loadLeases(database),
      await functions.loadLeases(database, 120_000),
    ]
    await functions.releaseLease(database, b)
    log.push(await acquire(b, 60_000))
    await functions.releaseLease(database, a)
    log.push(await functions.loadLeases(database), await acquire(b, 60_000))
    log.push(await functions.renewLease(database, a, 1, 60_000))
    log.push(await acquire({ ...b, holder: 'machine later' }, 60_000))
    return log
  },

  'a lease expires': async (place) => {
    const { database, functions, pause } = place
    const acquire = acquiring(place)
    await acquire(candidate('a'), 50)
    const before = await acquire(candidate('b'), 60_000)
    await pause(100)
    return [before, await functions.loadLeases(database), await acquire(candidate('b'), 60_000)]
  },

  'a fenced transaction delays a takeover, and fails for an old leader': async ({
    database,
    functions,
    pause,
  }) => {
    await functions.acquireLease(database, candidate('a'), 10)
    const log: unknown[] = []
    await pause(30)
    let taken: Promise<real.LeaseAttempt> | undefined
    await database.transaction(async (transaction) => {
      await functions.assertLeads(transaction, 'coordinator', 1)
      taken = functions.acquireLease(database, candidate('b'), 60_000)
      const isTaken = watch(taken)
      await pause(100)
      log.push(isTaken())
    })
    log.push((await taken)?.term)
    const fails = database.transaction((transaction) => functions.assertLeads(transaction, 'coordinator', 1))
    log.push(await fails.catch(({ code, message }) => [code, message]))
    return log
  },

  'a transaction that fails changes nothing': async ({ database, functions }) => {
    const failed = database.transaction(async (transaction) => {
      await functions.saveAudit(transaction, { ...audit, type: 't', key: 'k', payload: '1' }, firstDay)
      throw new Error('it failed')
    })
    const message = await failed.catch((error: Error) => error.message)
    return [message, await auditOf({ database, functions }, { type: 't' })]
  },

  'statements see what others have committed, and nothing else': async ({ database, functions, pause }) => {
    const log: unknown[] = []
    const names = async (queries: real.Queries) =>
      (await functions.loadSegmentRecords(queries, {})).map(({ payload }) => payload.version)
    await database.transaction(async (transaction) => {
      await functions.copySegments(transaction, [inserted(segment(0))], undefined, firstDay)
      log.push(await names(transaction), await names(database))
      await copy({ database, functions, pause }, [segment(1, 0, 'v2')])
      log.push((await names(transaction)).sort())
    })
    log.push((await names(database)).sort())
    return log
  },

  'changes of one row wait for each other': async ({ database, functions, pause }) => {
    await copy({ database, functions, pause }, [segment(0)])
    const { id } = segment(0)
    const log: unknown[] = []
    let second: Promise<unknown> = Promise.resolve()
    await database.transaction(async (transaction) => {
      log.push(await functions.markUnused(transaction, [id], { kind: 'task', taskId: 'a' }, firstDay))
      second = database.transaction((other) =>
        functions.markUnused(other, [id], { kind: 'task', taskId: 'b' }, firstDay),
      )
      const isDone = watch(second)
      await pause(100)
      log.push(isDone())
    })
    // The second transaction sees that the segment is unused by now.
    log.push(await second)
    return log
  },

  'a datasource is locked until the transaction ends': async ({ database, functions, pause }) => {
    const log: unknown[] = []
    let second: Promise<unknown> = Promise.resolve()
    await database.transaction(async (transaction) => {
      await functions.lockDatasource(transaction, 'wiki')
      second = database.transaction((other) => functions.lockDatasource(other, 'wiki'))
      const other = watch(second)
      await database.transaction((unrelated) => functions.lockDatasource(unrelated, 'other'))
      await pause(100)
      log.push(other())
    })
    await second
    return log
  },

  'servers are listed until they miss their heartbeats': async ({ database, functions, pause }) => {
    const node = (name: string, role: real.AnnouncedNode['role']) =>
      ({
        name,
        role,
        service: 's',
        host: 'h',
        plaintextPort: 1,
        tlsPort: null,
        details: { tier: 'hot' },
      }) as const
    await functions.saveHeartbeat(database, node('b', 'historical'))
    await functions.saveHeartbeat(database, node('a', 'historical'))
    await functions.saveHeartbeat(database, node('c', 'broker'))
    const refresh = (roles: readonly real.AnnouncedNode['role'][], own?: real.AnnouncedNode) =>
      functions.refreshMembers(database, { roles, own, timeoutMs: 60_000, soonMs: 120_000 })
    const log: unknown[] = [
      await functions.loadNodes(database, 60_000),
      await refresh(['historical']),
      await refresh([], node('d', 'broker')),
      await refresh(['broker', 'historical'], { ...node('a', 'historical'), plaintextPort: 2 }),
    ]
    await functions.acquireLease(database, candidate('a'), 60_000)
    log.push(await refresh([]))
    await functions.removeNode(database, node('a', 'historical'))
    await pause(200)
    await functions.saveHeartbeat(database, node('c', 'broker'))
    log.push((await functions.loadNodes(database, 100)).map(({ name }) => name))
    return log
  },

  'rules are stored with an audit entry each': async ({ database, functions }) => {
    const rules = JSON.stringify([{ type: 'loadForever', tieredReplicants: { hot: 1 } }])
    await functions.ensureDefaultRules(database, rules)
    await functions.ensureDefaultRules(database, '[]')
    await functions.saveRules(database, 'wiki', rules, audit, firstDay)
    const refuse = (): void => {
      throw new Error('changed in the meantime')
    }
    const refused = functions.saveRules(database, 'wiki', '[]', audit, firstDay, refuse)
    const log: unknown[] = [await refused.catch((error: Error) => error.message)]
    await functions.saveRules(database, 'wiki', '[]', audit, firstDay + 1)
    const { rules: stored, auditIds } = await functions.loadRulesSnapshot(
      database,
      new functions.ParsedRules(),
    )
    const history = await auditOf({ database, functions }, { type: 'rules', withReplaced: true })
    log.push(
      [...stored].map(([name, list]) => [name, list.length]),
      [...auditIds.keys()],
    )
    log.push(
      auditIds.get('wiki') === history.at(-1)?.id,
      history.map(({ id: _, ...entry }) => entry),
    )
    log.push(
      (await auditOf({ database, functions }, { type: 'rules', count: 1 })).map(({ payload }) => payload),
    )
    const interval = { start: firstDay + 1, end: firstDay + 2 }
    log.push((await auditOf({ database, functions }, { type: 'rules', interval })).length)
    return log
  },

  'locked rules do not change': async ({ database, functions, pause }) => {
    await functions.saveRules(database, 'wiki', '[]', audit, firstDay)
    const log: unknown[] = []
    let saved: Promise<unknown> = Promise.resolve()
    await database.transaction(async (transaction) => {
      log.push((await functions.lockRules(transaction, ['wiki', 'none'])).size)
      saved = functions.saveRules(database, 'wiki', '[]', audit, firstDay)
      const isSaved = watch(saved)
      await pause(100)
      log.push(isSaved())
    })
    await saved
    return log
  },

  'a configuration is not overwritten by a change of an old revision': async ({ database, functions }) => {
    const log: unknown[] = [await functions.loadConfig(database, 'c')]
    await functions.saveConfig(database, 'c', '{"a":1}', 0, audit, firstDay)
    log.push(await functions.loadConfig(database, 'c'))
    const late = functions.saveConfig(database, 'c', '{"a":2}', 0, audit, firstDay)
    log.push(await late.catch(({ code }) => code))
    await functions.saveConfig(database, 'c', '{"a":3}', 1, audit, firstDay)
    log.push(await functions.loadConfig(database, 'c'))
    return log
  },

  'segments are found by their properties': async (place) => {
    const { database, functions } = place
    await copy(place, [
      segment(0),
      segment(1),
      segment(1, 1),
      segment(2, 0, 'v2'),
      segment(0, 0, 'v1', 'other'),
    ])
    const { id } = segment(1)
    await database.transaction((transaction) =>
      functions.markUnused(transaction, [id, 'unknown'], { kind: 'request', identity: 'ann' }, firstDay + 5),
    )
    const within = { start: firstDay + dayMs, end: firstDay + 3 * dayMs }
    const idsOf = async (query: real.SegmentQuery) =>
      (await functions.loadSegmentRecords(database, query)).map(({ payload }) => payload.identifier)
    return [
      await idsOf({}),
      await idsOf({ dataSource: 'wiki', used: false }),
      await idsOf({ dataSource: 'wiki', within, order: 'DESC', limit: 2 }),
      await idsOf({ ids: [id, 'unknown'] }),
      await idsOf({ versions: ['v2'] }),
      await idsOf({ unchangedSince: firstDay + 4, used: false }),
      await idsOf({ after: id, limit: 1 }),
      (await functions.loadOverlapping(database, 'wiki', within)).sort((a, b) => (a.id < b.id ? -1 : 1)),
      await functions.loadStoredSegments(database, { dataSource: 'other' }),
      await functions.loadDatasourceNames(database, false),
      [...(await functions.loadPayloads(database, [id]))],
      [...(await functions.loadPayloadTexts(database, [id, 'unknown']))],
      [...(await functions.loadUsedSegmentSizes(database, [id, segment(0).id]))],
      await copy(place, [segment(0)]).catch(({ code }) => code),
    ]
  },

  'followers see every change, in whatever order transactions end': async (place) => {
    const { database, functions } = place
    await copy(place, [segment(0), segment(1)])
    const follow = async (cursor: string | undefined) => {
      const seen: string[] = []
      const next = await functions.followSegmentChanges(database, cursor, {
        all: () => seen.push('all'),
        used: ({ id }) => seen.push(`used ${id}`),
        gone: (id) => seen.push(`gone ${id}`),
      })
      return { next, seen: seen.sort() }
    }
    const first = await follow(undefined)
    const log: unknown[] = [first.seen]
    let cursor = first.next
    await database.transaction(async (transaction) => {
      await functions.copySegments(transaction, [inserted(segment(2))], undefined, firstDay)
      // A later transaction ends first.
      await copy(place, [segment(3)])
      const second = await follow(cursor)
      cursor = second.next
      log.push(second.seen.includes(`used ${segment(3).id}`), second.seen.includes(`used ${segment(2).id}`))
    })
    const third = await follow(cursor)
    log.push(third.seen.includes(`used ${segment(2).id}`))
    await database.transaction(async (transaction) => {
      await functions.markUnused(
        transaction,
        [segment(0).id],
        { kind: 'overshadowed', byVersion: 'v2' },
        firstDay,
      )
      const erased = await functions.eraseUnused(transaction, [segment(0).id, segment(1).id])
      log.push(erased.map(({ identifier }) => identifier))
    })
    const fourth = await follow(third.next)
    const { changed, removed } = await functions.loadSegmentChanges(database, third.next, ['wiki'])
    log.push(
      fourth.seen.includes(`gone ${segment(0).id}`),
      removed,
      changed.some(({ id }) => id === segment(0).id),
    )
    const anyTime = { start: firstDay, end: firstDay + 9 * dayMs }
    log.push(await functions.loadPartitionFloors(database, 'wiki', anyTime))
    return log
  },

  'segments are marked as used again': async (place) => {
    const { database, functions } = place
    await copy(place, [segment(0)])
    const { id } = segment(0)
    return await database.transaction(async (transaction) => [
      await functions.markUsed(transaction, [id], firstDay),
      await functions.markUnused(transaction, [id], [{ kind: 'request', identity: 'ann' }], firstDay + 1),
      await functions.markUnused(transaction, [id], [{ kind: 'request', identity: 'ann' }], firstDay + 2),
      await functions.markUsed(transaction, [id], firstDay + 3),
      (await functions.loadSegmentRecords(transaction, {})).map(({ used, usedChangedAt }) => [
        used,
        usedChangedAt,
      ]),
    ])
  },

  'columns and compaction states are stored once': async ({ database, functions }) => {
    const columns = [{ name: 'a', type: 'string' }] as const
    const [first, again, other] = await database.transaction((transaction) =>
      functions.saveSegmentSchemas(transaction, [columns, columns, []]),
    )
    const save = (state: object) =>
      database.transaction((transaction) =>
        functions.saveCompactionState(transaction, { dataSource: 'wiki', state }),
      )
    const [one, same, different] = [await save({ a: 1 }), await save({ a: 1 }), await save({ a: 2 })]
    return [
      first === again,
      first !== other,
      (await functions.loadSegmentSchemas(database, [first!])).get(first!),
      one.id === same.id && one.fingerprint === same.fingerprint,
      one.id !== different.id,
      (await functions.loadCompactionStates(database, [one.id])).get(one.id),
    ]
  },

  'compaction configurations are stored with an audit entry each': async ({ database, functions }) => {
    const { parseCompactionConfig } = await import('@svc/domain/compaction')
    const config = parseCompactionConfig({ dataSource: 'wiki', taskPriority: 7 })
    await functions.saveCompactionConfig(database, config, audit, firstDay)
    await functions.changeClusterCompactionConfig(
      database,
      (present) => ({ ...present, maxCompactionTaskSlots: 3 }),
      audit,
      firstDay,
    )
    const log: unknown[] = [
      (await functions.loadCompactionConfigs(database)).map(({ taskPriority }) => taskPriority),
      (await functions.loadCompactionConfig(database, 'wiki'))?.taskPriority,
      (await functions.loadClusterCompactionConfig(database)).maxCompactionTaskSlots,
      await functions.deleteCompactionConfig(database, 'wiki', audit, firstDay),
      await functions.deleteCompactionConfig(database, 'wiki', audit, firstDay),
      await functions.loadCompactionConfig(database, 'wiki'),
    ]
    const history = await auditOf({ database, functions }, { type: 'compaction.config' })
    log.push(history.map(({ key, payload }) => [key, payload === 'null']))
    return log
  },

  'a task has one running attempt': async ({ database, functions, pause }) => {
    const { claimTask, renewClaim, finishAttempt } = functions
    const log: unknown[] = [
      await functions.saveTask(database, task('a')),
      await functions.saveTask(database, task('a')),
    ]
    log.push(await claimTask(database, 'a', worker, 60_000), await claimTask(database, 'a', worker, 60_000))
    log.push(await claimTask(database, 'unknown', worker, 60_000))
    log.push(await renewClaim(database, 'a', 1, 20, { rows: 1 }))
    await pause(60)
    log.push((await functions.loadUnclaimedTasks(database, 9)).map(({ id, attempt }) => [id, attempt]))
    log.push(await claimTask(database, 'a', worker, 60_000), await renewClaim(database, 'a', 1, 60_000))
    const end = { state: 'SUCCESS', errorMessage: null } as const
    log.push(await finishAttempt(database, 'a', 1, end), await finishAttempt(database, 'a', 2, end))
    log.push(await finishAttempt(database, 'a', 2, end), await functions.cancelTask(database, 'a', 'late'))
    const {
      createdAt: _,
      startedAt: __,
      finishedAt: ___,
      durationMs: ____,
      ...stored
    } = (await functions.loadTask(database, 'a'))!
    log.push(
      stored,
      await functions.loadTaskPayload(database, 'a'),
      await functions.loadTask(database, 'unknown'),
    )
    return log
  },

  'tasks without a worker are listed by priority, and by ID': async ({ database, functions, pause }) => {
    for (const [id, priority] of [
      ['c', 0],
      ['a', 5],
      ['b', 5],
    ] as const) {
      await functions.saveTask(database, task(id, { priority }))
      await pause(5)
    }
    await functions.saveTask(database, task('d'))
    await functions.claimTask(database, 'd', worker, 60_000)
    const ids = (tasks: readonly real.StoredTask[]) => tasks.map(({ id }) => id)
    const log: unknown[] = [
      ids(await functions.loadUnclaimedTasks(database, 9)),
      ids(await functions.loadUnclaimedTasksAfter(database, 'a', 9)),
      [...(await functions.countUnfinishedTasks(database, 'kill'))],
      await functions.countRunningTasks(database),
    ]
    await functions.releaseClaims(database, 'worker:1')
    log.push(ids(await functions.loadUnclaimedTasks(database, 9)).includes('d'))
    log.push(await functions.cancelTask(database, 'c', 'canceled'))
    const canceled = (await functions.loadTask(database, 'c'))!
    log.push([canceled.state, canceled.errorMessage, canceled.durationMs])
    const scoped = functions.scopedTaskId('mine', 'wiki')
    await functions.saveTask(database, task(scoped))
    log.push((await functions.loadTasksShownAs(database, 'mine')).map(({ shownId }) => shownId))
    return log
  },

  'tasks with a lock wait for each other, or preempt those of a lower priority': async ({
    database,
    functions,
  }) => {
    const interval = { start: firstDay, end: firstDay + dayMs }
    const claim = (id: string, priority: number, lock = interval) =>
      functions.claimTaskWithNeeds(database, id, worker, 60_000, {
        lock: { dataSource: 'wiki', interval: lock, priority },
        limit: undefined,
      })
    for (const id of ['a', 'b', 'c', 'd']) await functions.saveTask(database, task(id))
    const log: unknown[] = [await claim('a', 5), await claim('b', 5), await claim('b', 4)]
    log.push((await functions.loadTask(database, 'b'))?.waiting, await functions.loadTaskLocks(database))
    log.push(await claim('c', 5, { start: firstDay + dayMs, end: firstDay + 2 * dayMs }))
    log.push(await claim('d', 6), (await functions.loadTask(database, 'a'))?.errorMessage)
    log.push(
      await claim('a', 9),
      (await functions.loadTaskLocks(database)).map(({ taskId }) => taskId),
    )
    const limited = functions.claimTaskWithNeeds(database, 'b', worker, 60_000, {
      lock: undefined,
      limit: { type: 'kill', maxRunning: 2 },
    })
    log.push(await limited)
    return log
  },

  'compact tasks are listed with their intervals': async ({ database, functions, pause }) => {
    const payload = { ioConfig: { inputSpec: { interval: 'i' } }, context: { compaction: { slots: 1 } } }
    await functions.saveTask(database, task('a', { type: 'compact', payload }))
    await functions.saveTask(database, task('b'))
    await functions.claimTask(database, 'a', worker, 60_000)
    await pause(5)
    await functions.finishAttempt(database, 'a', 1, { state: 'FAILED', errorMessage: 'x' })
    const found = await functions.loadCompactTasks(database, 0)
    return found.map(({ finishedAt, waitMs, durationMs, ...one }) => [
      one,
      finishedAt !== null,
      waitMs >= 0,
      (durationMs ?? 0) > 0,
    ])
  },

  'problems and load rates are kept by server': async ({ database, functions, pause }) => {
    const server = { role: 'broker', name: 'b:1' } as const
    await functions.saveServerProblem(database, { ...server, problem: 'first' })
    await functions.saveServerProblem(database, { ...server, problem: 'second' })
    const log: unknown[] = [await functions.loadServerProblems(database, 60_000)]
    await pause(60)
    log.push(await functions.loadServerProblems(database, 20))
    await functions.removeServerProblem(database, server)
    log.push(await functions.loadServerProblems(database, 60_000))
    const sums = { ms: 1, segments: 2, bytes: 3 } as never
    await functions.saveLoadRates(database, new Map([['b:1', sums]]))
    log.push([...(await functions.loadLoadRates(database))])
    return log
  },

  'changes to segments and configurations are reported after a commit': async (place) => {
    const { database, functions, pause } = place
    const changes = functions.countTableChanges(database)
    await changes.start()
    const counts = () => [changes.countOf('segments'), changes.countOf('dynamic_configs')].map(Boolean)
    const log: unknown[] = [counts()]
    const untilCounted = async (table: real.WatchedTable): Promise<void> => {
      for (let waits = 0; !changes.countOf(table) && waits < 100; waits++) await pause(20)
      log.push(counts())
    }
    await functions.saveConfig(database, 'any', '{}', 0, audit, 0)
    await untilCounted('dynamic_configs')
    await copy(place, [segment(0)])
    await untilCounted('segments')
    return log
  },

  'listeners are notified after a commit': async ({ database, functions, pause }) => {
    let notices = 0
    const listener = await database.listen(functions.rulesChannel, () => {
      notices += 1
    })
    await functions.saveRules(database, 'wiki', '[]', audit, firstDay)
    for (let waits = 0; notices === 0 && waits < 100; waits++) await pause(20)
    await listener.close()
    await functions.saveRules(database, 'wiki', '[]', audit, firstDay)
    await pause(50)
    return notices
  },
}

const stores = await createTestStores({ after })
const database = stores.connect(8)

beforeEach(() =>
  database.query(sql`
    TRUNCATE segments, segment_removals, partition_floors, rules, dynamic_configs, audit, tasks, task_locks, segment_kills,
      nodes, leader_leases, server_troubles, load_rates, segment_schemas, compaction_states, compaction_configs`),
)

describe('the metadata store and its stand-in', () => {
  for (const [name, run] of Object.entries(cases)) {
    it(name, async () => {
      const expected = await run({ database, functions: real, pause: (ms) => delay(ms) })
      const { run: simulate, pause } = createSimulatedEnvironment()
      const found = await simulate(async () => {
        const settings = stores.settings('coordinator')
        const simulated = standIn.createDatabase(settings, { connections: 8, applicationName: 'test' })
        return await run({ database: simulated, functions: standIn as typeof real, pause: (ms) => pause(ms) })
      })
      assert.deepEqual(found, expected)
    })
  }
})
