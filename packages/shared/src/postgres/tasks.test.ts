import assert from 'node:assert/strict'
import { after, beforeEach, describe, it } from 'node:test'
import { createTestStores, waitUntil } from '../testing/index.ts'
import {
  cancelTask,
  claimTask,
  claimTaskWithNeeds,
  countRunningOfType,
  finishAttempt,
  loadDataSourcesOfTasks,
  loadTask,
  loadTaskLocks,
  loadTaskPayload,
  loadTasks,
  loadUnclaimedTasks,
  loadUnclaimedTasksAfter,
  type NewTask,
  pagesOfNewestTasks,
  pagesOfReadableTasks,
  releaseClaims,
  renewClaim,
  saveTask,
  sql,
  type TaskWorker,
  tasksChannel,
} from './index.ts'

const stores = await createTestStores({ after })
const { database } = stores
beforeEach(() => database.query(sql`DELETE FROM tasks`))

const task = (id: string, given: Partial<NewTask> = {}): NewTask => ({
  id,
  groupId: id,
  type: 'index_parallel',
  dataSource: 'wiki',
  priority: 50,
  payload: { spec: id },
  submittedBy: 'ann',
  ...given,
})
const worker = { name: 'w:1', host: 'w', port: 1, tlsPort: null }
const other = { name: 'w:2', host: 'w', port: null, tlsPort: 2 }
const long = 60_000
const expire = () =>
  database.query(
    sql`UPDATE tasks SET claimed_until = clock_timestamp() - interval '1 ms' WHERE state = 'RUNNING'`,
  )
const claim = async (id: string, by: TaskWorker = worker) =>
  (await claimTask(database, id, by, long)) as number
const stateOf = async (id: string) => (await loadTask(database, id))?.state

describe('a listener for tasks', () => {
  it('receives the datasource of a task that is created, starts, starts to wait, or ends', async (context) => {
    const received: (string | undefined)[] = []
    const listener = await database.listen(tasksChannel, (dataSource) => received.push(dataSource))
    context.after(() => listener.close())
    const afterStep = async (step: () => Promise<unknown>): Promise<typeof received> => {
      received.length = 0
      await step()
      // Notifications arrive in order, so those of the step arrive before this one.
      await database.query(sql`SELECT pg_notify(${tasksChannel}, 'last')`)
      await waitUntil('the last notification', () => received.at(-1) === 'last')
      return received.slice(0, -1)
    }
    const none = { lock: undefined, limit: { type: 'kill', maxRunning: 0 } }
    assert.deepEqual(await afterStep(() => saveTask(database, task('a'))), ['wiki'])
    assert.deepEqual(await afterStep(() => saveTask(database, task('b', { dataSource: 'koalas' }))), [
      'koalas',
    ])
    assert.deepEqual(await afterStep(() => claimTaskWithNeeds(database, 'b', worker, long, none)), ['koalas'])
    assert.deepEqual(await afterStep(() => claimTaskWithNeeds(database, 'b', worker, long, none)), [])
    assert.deepEqual(await afterStep(() => claim('a')), ['wiki'])
    assert.deepEqual(await afterStep(() => renewClaim(database, 'a', 1, long, { done: 1 })), [])
    const end = { state: 'SUCCESS' as const, errorMessage: null }
    assert.deepEqual(await afterStep(() => finishAttempt(database, 'a', 1, end)), ['wiki'])
    assert.deepEqual(await afterStep(() => cancelTask(database, 'b', 'enough')), ['koalas'])
    assert.deepEqual((await loadDataSourcesOfTasks(database)).sort(), ['koalas', 'wiki'])
  })
})

describe('a task', () => {
  it('is stored once under its ID', async () => {
    assert.equal(await saveTask(database, task('a')), true)
    assert.equal(await saveTask(database, task('a', { dataSource: 'other' })), false)
    const stored = await loadTask(database, 'a')
    assert.ok(Math.abs((stored?.createdAt ?? 0) - Date.now()) < 60_000)
    assert.deepEqual(
      { ...stored, createdAt: 0 },
      {
        id: 'a',
        shownId: 'a',
        groupId: 'a',
        type: 'index_parallel',
        dataSource: 'wiki',
        priority: 50,
        createdAt: 0,
        submittedBy: 'ann',
        state: 'PENDING',
        attempt: 0,
        worker: null,
        workerHost: null,
        workerPort: null,
        workerTlsPort: null,
        startedAt: null,
        finishedAt: null,
        durationMs: null,
        progress: null,
        errorMessage: null,
        waiting: false,
      },
    )
    assert.deepEqual(await loadTaskPayload(database, 'a'), { spec: 'a' })
    assert.equal(await loadTask(database, 'b'), undefined)
    assert.equal(await loadTaskPayload(database, 'b'), undefined)
  })

  it('preserves its payload exactly, including the order of fields', async () => {
    const payload = {
      z: 1,
      a: ['\\N', '\t', '🐨', '\u0000', { __proto__: null, b: null }],
      text: 'x'.repeat(100_000),
    }
    await saveTask(database, task('p', { payload }))
    assert.equal(JSON.stringify(await loadTaskPayload(database, 'p')), JSON.stringify(payload))
  })

  it('is listed newest first, by state, datasource, and type', async () => {
    for (const [id, given] of [
      ['a', {}],
      ['b', { dataSource: 'koalas' }],
      ['c', { type: 'kill' }],
    ] as const)
      await saveTask(database, task(id, given))
    await claim('b')
    const ids = async (query: Partial<Parameters<typeof loadTasks>[1]>) =>
      (await loadTasks(database, { limit: 10, ...query })).map(({ id }) => id)
    assert.deepEqual(await ids({}), ['c', 'b', 'a'])
    assert.deepEqual(await ids({ limit: 2 }), ['c', 'b'])
    assert.deepEqual(await ids({ states: ['RUNNING'] }), ['b'])
    assert.deepEqual(await ids({ states: [] }), [])
    assert.deepEqual(await ids({ states: ['PENDING', 'RUNNING'], dataSources: ['wiki'] }), ['c', 'a'])
    assert.deepEqual(await ids({ type: 'kill' }), ['c'])
    const readable = async (limit: number, mayRead: (dataSource: string) => boolean) => {
      const found: string[] = []
      for await (const page of pagesOfNewestTasks(database, { limit }, async () => mayRead))
        found.push(...page.map(({ id }) => id))
      return found
    }
    assert.deepEqual(await readable(2, (name) => name === 'wiki'), ['c', 'a'])
    assert.deepEqual(await readable(1, (name) => name === 'koalas'), ['b'])
    assert.deepEqual(await readable(9, () => false), [])
    assert.deepEqual(await readable(9, () => true), ['c', 'b', 'a'])
  })
})

describe('a claim', () => {
  it('goes to one worker, which is then listed', async () => {
    await saveTask(database, task('a'))
    assert.equal(await claim('a'), 1)
    assert.equal(await claim('a', other), undefined)
    const {
      state,
      attempt,
      worker: name,
      workerHost,
      workerPort,
      workerTlsPort,
      startedAt,
    } = (await loadTask(database, 'a')) ?? assert.fail()
    assert.deepEqual(
      { state, attempt, name, workerHost, workerPort, workerTlsPort },
      { state: 'RUNNING', attempt: 1, name: 'w:1', workerHost: 'w', workerPort: 1, workerTlsPort: null },
    )
    assert.ok((startedAt ?? 0) > 0)
  })

  it('goes to exactly one of many concurrent workers', async () => {
    await saveTask(database, task('a'))
    const many = stores.connect(10)
    const attempts = await Promise.all(
      Array.from({ length: 10 }, (_, index) => claimTask(many, 'a', { ...worker, name: `w:${index}` }, long)),
    )
    assert.deepEqual(
      attempts.filter((attempt) => attempt !== undefined),
      [1],
    )
  })

  it('of a missing or finished task is rejected', async () => {
    assert.equal(await claim('nowhere'), undefined)
    await saveTask(database, task('a'))
    await finishAttempt(database, 'a', await claim('a'), { state: 'SUCCESS', errorMessage: null })
    assert.equal(await claim('a', other), undefined)
  })

  it('that expired goes to another worker, as another attempt', async () => {
    await saveTask(database, task('a'))
    assert.equal(await claimTask(database, 'a', worker, 100), 1)
    const attempt = await waitUntil('it expires', () => claimTask(database, 'a', other, long))
    assert.equal(attempt, 2)
    assert.equal((await loadTask(database, 'a'))?.worker, 'w:2')
  })

  it('is renewed by its attempt, with its progress', async () => {
    await saveTask(database, task('a'))
    const attempt = await claim('a')
    assert.equal(await renewClaim(database, 'a', attempt, long, { rows: 5 }), true)
    assert.deepEqual((await loadTask(database, 'a'))?.progress, { rows: 5 })
    await expire()
    assert.equal(await renewClaim(database, 'a', attempt, long), true, 'no other worker has taken it')
    assert.deepEqual((await loadTask(database, 'a'))?.progress, { rows: 5 })
    assert.equal(await claim('a', other), undefined)
    await expire()
    assert.equal(await claim('a', other), 2)
    assert.equal(await renewClaim(database, 'a', attempt, long), false)
    assert.equal(await renewClaim(database, 'a', 2, long), true)
  })

  it('ends for all tasks of a restarted worker, and not for tasks of other workers', async () => {
    for (const id of ['a', 'b', 'c']) await saveTask(database, task(id))
    await claim('a')
    await claim('b', other)
    await finishAttempt(database, 'c', await claim('c'), { state: 'SUCCESS', errorMessage: null })
    await releaseClaims(database, worker.name)
    assert.deepEqual(
      (await loadUnclaimedTasks(database, 10)).map(({ id }) => id),
      ['a'],
    )
    assert.equal(await claim('a', other), 2)
    assert.equal(await claim('b'), undefined)
    assert.equal(await stateOf('c'), 'SUCCESS')
  })
})

describe('the end of a task', () => {
  it('is recorded once, by the current attempt', async () => {
    await saveTask(database, task('a'))
    const first = await claim('a')
    await expire()
    const second = await claim('a', other)
    assert.equal(await finishAttempt(database, 'a', first, { state: 'SUCCESS', errorMessage: null }), false)
    assert.equal(await stateOf('a'), 'RUNNING')
    const end = { state: 'FAILED', errorMessage: 'It broke', progress: { rows: 7 } } as const
    assert.equal(await finishAttempt(database, 'a', second, end), true)
    assert.equal(await finishAttempt(database, 'a', second, { state: 'SUCCESS', errorMessage: null }), false)
    const stored = (await loadTask(database, 'a')) ?? assert.fail()
    assert.deepEqual(
      [stored.state, stored.errorMessage, stored.progress, stored.attempt],
      ['FAILED', 'It broke', { rows: 7 }, 2],
    )
    assert.ok((stored.durationMs ?? -1) >= 0)
    assert.ok((stored.finishedAt ?? 0) >= (stored.startedAt ?? Infinity))
  })

  it('is recorded with any message', async () => {
    await saveTask(database, task('a'))
    const message = `row [a\0b] '"\\ 🐨 ${'x'.repeat(10_000)}`
    await finishAttempt(database, 'a', await claim('a'), { state: 'FAILED', errorMessage: message })
    assert.equal((await loadTask(database, 'a'))?.errorMessage, message.replace('\0', '\uFFFD'))
  })

  it('is rolled back with its transaction', async () => {
    await saveTask(database, task('a'))
    const attempt = await claim('a')
    await assert.rejects(
      database.transaction(async (transaction) => {
        await finishAttempt(transaction, 'a', attempt, { state: 'SUCCESS', errorMessage: null })
        throw new Error('not published')
      }),
    )
    assert.equal(await stateOf('a'), 'RUNNING')
    assert.equal(await renewClaim(database, 'a', attempt, long), true)
  })

  it('by a shutdown is final, before and during a run', async () => {
    await saveTask(database, task('waiting'))
    await saveTask(database, task('running'))
    const attempt = await claim('running')
    for (const id of ['waiting', 'running']) {
      assert.equal(await cancelTask(database, id, 'Ended by [ann]'), true)
      assert.equal(await cancelTask(database, id, 'Ended by [bob]'), false)
      const stored = (await loadTask(database, id)) ?? assert.fail()
      assert.deepEqual([stored.state, stored.errorMessage], ['FAILED', 'Ended by [ann]'])
      assert.ok((stored.durationMs ?? -1) >= 0)
      assert.equal(await claim(id, other), undefined)
    }
    assert.equal(await renewClaim(database, 'running', attempt, long), false)
    assert.equal(
      await finishAttempt(database, 'running', attempt, { state: 'SUCCESS', errorMessage: null }),
      false,
    )
    assert.equal(await cancelTask(database, 'nowhere', ''), false)
  })

  it('and a concurrent shutdown: exactly one of them wins', async () => {
    const many = stores.connect(4)
    for (let round = 0; round < 20; round++) {
      const id = `race${round}`
      await saveTask(database, task(id))
      const attempt = await claim(id)
      const [finished, cancelled] = await Promise.all([
        finishAttempt(many, id, attempt, { state: 'SUCCESS', errorMessage: null }),
        cancelTask(many, id, 'Ended'),
      ])
      assert.notEqual(finished, cancelled)
      assert.equal(await stateOf(id), finished ? 'SUCCESS' : 'FAILED')
    }
  })
})

describe('unclaimed tasks', () => {
  it('are the pending ones and those whose worker stopped responding, highest priority first', async () => {
    await saveTask(database, task('low', { priority: 0 }))
    await saveTask(database, task('first'))
    await saveTask(database, task('second'))
    await saveTask(database, task('urgent', { priority: 75 }))
    await saveTask(database, task('lost'))
    await claim('lost')
    await expire()
    await saveTask(database, task('running'))
    await claim('running')
    await saveTask(database, task('over'))
    await cancelTask(database, 'over', '')
    const ids = async (limit: number) => (await loadUnclaimedTasks(database, limit)).map(({ id }) => id)
    assert.deepEqual(await ids(10), ['urgent', 'first', 'second', 'lost', 'low'])
    assert.deepEqual(await ids(2), ['urgent', 'first'])
    const after = async (id: string) => (await loadUnclaimedTasksAfter(database, id, 2)).map((one) => one.id)
    assert.deepEqual(await after(''), ['first', 'lost'])
    assert.deepEqual(await after('lost'), ['low', 'second'])
    assert.deepEqual(await after('second'), ['urgent'])
  })
})

describe('all tasks', () => {
  it('come in pages of at most 500, however many there are', async () => {
    await database.query(sql`
      INSERT INTO tasks (id, group_id, type, datasource, priority, payload, created_at, submitted_by, state)
      SELECT 't' || n, '', 'kill', CASE WHEN n % 2 = 0 THEN 'wiki' ELSE 'koalas' END, 0, '{}', now(), '', 'PENDING'
      FROM generate_series(1, 11000) n`)
    const ids = new Set<string>()
    for await (const page of pagesOfReadableTasks(
      database,
      async () => (dataSource) => dataSource === 'wiki',
    )) {
      assert.ok(page.length <= 500)
      for (const { id } of page) ids.add(id)
    }
    assert.equal(ids.size, 5500)
    for await (const page of pagesOfNewestTasks(database, {}, async () => () => true)) {
      assert.ok(page.length <= 500)
      for (const { id } of page) ids.add(id)
    }
    assert.equal(ids.size, 11_000)
  })
})

describe('a task that locks an interval', () => {
  const interval = (first: number, last: number) => ({
    start: Date.UTC(2026, 0, first),
    end: Date.UTC(2026, 0, last),
  })
  const locked = async (id: string, priority: number, [first, last] = [1, 10], dataSource = 'wiki') => {
    await saveTask(database, task(id, { priority, dataSource, type: 'compact' }))
    const lock = { dataSource, interval: interval(first as number, last as number), priority }
    return await claimTaskWithNeeds(database, id, worker, long, { lock, limit: undefined })
  }

  it('excludes other tasks of its priority until it ends', async () => {
    assert.deepEqual(await locked('a', 25), { kind: 'claimed', attempt: 1, preempted: [] })
    assert.deepEqual(await locked('b', 25, [9, 12]), { kind: 'waiting' })
    assert.deepEqual(await locked('c', 25, [10, 12]), { kind: 'claimed', attempt: 1, preempted: [] })
    assert.deepEqual(await locked('d', 25, [1, 10], 'other'), { kind: 'claimed', attempt: 1, preempted: [] })
    assert.deepEqual(
      (await loadTasks(database, { waiting: true, limit: 9 })).map(({ id }) => id),
      ['b'],
    )
    assert.deepEqual(
      (await loadTaskLocks(database)).map(({ taskId, interval: { start } }) => [taskId, start]),
      [
        ['a', interval(1, 10).start],
        ['c', interval(10, 12).start],
        ['d', interval(1, 10).start],
      ],
    )
    await finishAttempt(database, 'a', 1, { state: 'SUCCESS', errorMessage: null })
    await finishAttempt(database, 'c', 1, { state: 'SUCCESS', errorMessage: null })
    assert.deepEqual(await locked('b', 25, [9, 12]), { kind: 'claimed', attempt: 1, preempted: [] })
    assert.deepEqual(await loadTasks(database, { waiting: true, limit: 9 }), [])
  })

  it('preempts tasks of a lower priority, which fail', async () => {
    await locked('low', 25)
    assert.deepEqual(await locked('high', 50, [5, 6]), { kind: 'claimed', attempt: 1, preempted: ['low'] })
    const low = await loadTask(database, 'low')
    assert.equal(low?.state, 'FAILED')
    assert.match(low?.errorMessage ?? '', /Preempted by task \[high\] with higher priority \[50\]/)
    assert.equal(await renewClaim(database, 'low', 1, long), false)
    assert.deepEqual(await locked('later', 25, [1, 3]), { kind: 'claimed', attempt: 1, preempted: [] })
  })

  it('preempts no task if it has already ended', async () => {
    await locked('low', 25)
    await saveTask(database, task('over', { priority: 50, type: 'compact' }))
    await cancelTask(database, 'over', 'no more')
    assert.deepEqual(await locked('over', 50), { kind: 'gone' })
    assert.equal(await stateOf('low'), 'RUNNING')
  })

  it('keeps its lock for the next attempt when its worker dies', async () => {
    await locked('a', 25)
    await expire()
    assert.deepEqual(await locked('b', 25), { kind: 'waiting' })
    assert.deepEqual(await locked('a', 25), { kind: 'claimed', attempt: 2, preempted: [] })
  })

  it('goes to one of many concurrent tasks', async () => {
    const claims = await Promise.all(Array.from({ length: 8 }, (_, index) => locked(`t${index}`, 25)))
    assert.equal(claims.filter(({ kind }) => kind === 'claimed').length, 1)
  })
})

describe('a limit on running tasks of a type', () => {
  it('is not exceeded by concurrent claims', async () => {
    const limit = { type: 'compact', maxRunning: 2 }
    const ids = Array.from({ length: 6 }, (_, index) => `t${index}`)
    for (const id of ids) await saveTask(database, task(id, { type: 'compact' }))
    const claim = (id: string) => claimTaskWithNeeds(database, id, worker, long, { lock: undefined, limit })
    const claims = await Promise.all(ids.map(claim))
    assert.equal(claims.filter(({ kind }) => kind === 'claimed').length, 2)
    const running = ids[claims.findIndex(({ kind }) => kind === 'claimed')] as string
    await finishAttempt(database, running, 1, { state: 'SUCCESS', errorMessage: null })
    const waiting = ids[claims.findIndex(({ kind }) => kind === 'waiting')] as string
    assert.deepEqual(await claim(waiting), { kind: 'claimed', attempt: 1, preempted: [] })
  })

  it('counts only tasks whose claim has not expired', async () => {
    for (const id of ['live', 'expired']) await saveTask(database, task(id, { type: 'compact' }))
    await claimTask(database, 'live', worker, long)
    await claimTask(database, 'expired', worker, 0)
    assert.equal(await countRunningOfType(database, 'compact', 'next'), 1)
    assert.equal(await countRunningOfType(database, 'compact', 'live'), 0)
  })
})
