import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { after, before, beforeEach, describe, it } from 'node:test'
import type { Permission } from '@svc/domain/access'
import { createDutyGroup } from '@svc/shared/duties'
import { claimTask, finishAttempt, saveTask, sql } from '@svc/shared/postgres'
import { basicHeader, hashPassword } from '@svc/shared/security'
import { createTaskRunner, taskLogFile } from '@svc/shared/task-running'
import {
  createTestContext,
  type HttpCall,
  httpRequest,
  indexTask,
  rowsOf,
  waitUntil,
} from '@svc/shared/testing'
import { openTaskStores, workProperties } from '../testing/test-worker.ts'
import { clusterRoutes } from './cluster.ts'
import { taskRoutes } from './tasks.ts'

const { stores, database, folders } = await openTaskStores({ after })
const context = await createTestContext({ after }, stores, 'overlord', {
  ...workProperties(folders),
  'svc.worker.capacity': '0',
  'svc.request.maxTaskSize': '100k',
  'svc.auth.authenticatorChain': '["A"]',
  'svc.auth.authenticator.A.type': 'basic',
  'svc.auth.authenticator.A.authorizerName': 'Z',
  'svc.auth.authorizers': '["Z"]',
  'svc.auth.authorizer.Z.type': 'basic',
  'svc.escalator.type': 'basic',
  'svc.escalator.internalClientPassword': 'pw',
})
const escalatorUser = context.settings.get('svc.escalator.internalClientUsername')
const permission = (name: string, action: 'READ' | 'WRITE'): Permission => ({
  resource: { type: 'DATASOURCE', name },
  action,
})

let woken = 0
const dutyGroup = createDutyGroup('SomeDuties', 60_000, [], context.logger)
before(async () => {
  const access = { allowedRoots: [], allowedHosts: [] }
  const runner = createTaskRunner(context, access)
  await context.serve({
    routes: [
      ...taskRoutes(context, runner, access, () => woken++),
      ...clusterRoutes(context, { runner, dutyGroups: [dutyGroup], term: () => undefined }),
    ],
  })
  const credentials = await hashPassword('pw')
  const roles = {
    all: [permission('.*', 'READ'), permission('.*', 'WRITE')],
    reader: [permission('wiki', 'READ')],
    writer: [permission('wiki', 'WRITE')],
    none: [],
    koalasWriter: [permission('koalas', 'READ'), permission('koalas', 'WRITE')],
    state: [
      permission('.*', 'READ'),
      { resource: { type: 'STATE', name: 'STATE' }, action: 'WRITE' } as Permission,
    ],
    stateReader: [
      permission('wiki', 'READ'),
      { resource: { type: 'STATE', name: 'STATE' }, action: 'READ' } as Permission,
    ],
    config: [{ resource: { type: 'CONFIG', name: '.*' }, action: 'READ' } as Permission],
    [escalatorUser]: [permission('.*', 'WRITE')],
  }
  const names = Object.keys(roles)
  context.replaceUsers({
    version: 1,
    authenticators: { A: Object.fromEntries(names.map((name) => [name, credentials])) },
    authorizers: {
      Z: { users: Object.fromEntries(names.map((name) => [name, [name]])), roles, groupMappings: {} },
    },
  })
})
beforeEach(async () => {
  await database.query(sql`DELETE FROM tasks`)
  for (const dataSource of ['wiki', 'koalas']) await save(`of ${dataSource}`, dataSource)
})

const save = (id: string, dataSource: string) =>
  saveTask(database, {
    id,
    groupId: id,
    type: 'index_parallel',
    dataSource,
    priority: 50,
    payload: { of: dataSource },
    submittedBy: 'ann',
  })
const request = (path: string, user = 'all', more: Omit<HttpCall, 'path'> = {}) =>
  httpRequest(context.port, {
    path: `/svc/indexer/v1${path}`,
    headers: { Authorization: basicHeader(user, 'pw') },
    ...more,
  })
const idsOf = (answer: { json: unknown }) => (answer.json as { id: string }[]).map(({ id }) => id)
const shutdown = (id: string, user: string) =>
  request(`/task/${encodeURIComponent(id)}/shutdown`, user, { method: 'POST' })

describe('task lists', () => {
  it('show only tasks that the caller may read', async () => {
    assert.deepEqual(idsOf(await request('/tasks')), ['of koalas', 'of wiki'])
    assert.deepEqual(idsOf(await request('/tasks', 'reader')), ['of wiki'])
    assert.deepEqual(
      idsOf(await request('/tasks?max=1', 'reader')),
      ['of wiki'],
      'hidden tasks do not count toward max',
    )
    for (const user of ['writer', 'none']) assert.deepEqual(idsOf(await request('/tasks', user)), [])
    assert.equal((await request('/tasks?datasource=koalas', 'reader')).status, 403)
    assert.deepEqual(idsOf(await request('/tasks?datasource=wiki', 'reader')), ['of wiki'])
  })

  it('show tasks by state, type, and datasource', async () => {
    await save('running', 'wiki')
    await save('over', 'wiki')
    await claimTask(database, 'running', { name: 'w', host: 'h', port: 1, tlsPort: null }, 60_000)
    const attempt = await claimTask(
      database,
      'over',
      { name: 'w', host: 'h', port: 1, tlsPort: null },
      60_000,
    )
    await finishAttempt(database, 'over', attempt ?? 0, { state: 'FAILED', errorMessage: 'it broke' })
    const rows: readonly [path: string, ids: string[]][] = [
      ['/tasks', ['over', 'running', 'of koalas', 'of wiki']],
      ['/tasks?max=2', ['over', 'running']],
      ['/tasks?state=pending', ['of koalas', 'of wiki']],
      ['/tasks?state=running', ['running']],
      ['/tasks?state=waiting', []],
      ['/tasks?state=complete', ['over']],
      ['/tasks?type=kill', []],
      ['/tasks?state=pending&datasource=wiki', ['of wiki']],
      ['/runningTasks', ['running']],
      ['/pendingTasks', ['of koalas', 'of wiki']],
      ['/waitingTasks', []],
      ['/completeTasks', ['over']],
    ]
    for (const [path, ids] of rows) assert.deepEqual(idsOf(await request(path)), ids, path)
    const [over] = (await request('/completeTasks')).json as Record<string, unknown>[]
    assert.deepEqual(
      [over?.statusCode, over?.errorMsg, over?.location],
      ['FAILED', 'it broke', { host: 'h', port: 1, tlsPort: -1 }],
    )
    for (const query of ['max=0', 'max=x', 'state=sleeping', 'max=1&max=2'])
      assert.equal((await request(`/tasks?${query}`)).status, 400, query)
  })
})

describe('task lists without max', () => {
  it('have all unfinished tasks, and the finished ones of the last day', async () => {
    await database.query(sql`
      INSERT INTO tasks (id, group_id, type, datasource, priority, payload, created_at, submitted_by, state)
      SELECT state || n, '', 'kill', 'old', 0, '{}', now() - n * interval '1 minute', '', state
      FROM generate_series(1, 1500) n CROSS JOIN unnest(ARRAY['PENDING', 'RUNNING', 'SUCCESS']) state`)
    const counts = async (query: string) =>
      Map.groupBy((await request(`/tasks?datasource=old${query}`)).json as { id: string }[], ({ id }) =>
        id.replace(/\d+$/, ''),
      )
    const all = await counts('')
    assert.deepEqual(
      ['PENDING', 'RUNNING', 'SUCCESS'].map((state) => all.get(state)?.length),
      [1500, 1500, 1439],
    )
    assert.equal((await counts('&max=3000')).get('SUCCESS')?.length, 1000)
    assert.equal((await counts('&state=pending')).get('PENDING')?.length, 1500)
    assert.equal((await counts('&state=complete&max=1450')).get('SUCCESS')?.length, 1450)
  })
})

describe('a task', () => {
  it('does not exist for users who may not read it', async () => {
    for (const path of ['/task/of%20wiki', '/task/of%20wiki/status', '/task/of%20wiki/explain']) {
      for (const user of ['all', 'reader']) assert.equal((await request(path, user)).status, 200)
      for (const user of ['writer', 'none']) {
        const [hidden, unknown] = [await request(path, user), await request(path.replace('of', 'no'), user)]
        assert.deepEqual([hidden.status, unknown.status], [404, 404])
        assert.equal(hidden.text.replaceAll('of wiki', 'no wiki'), unknown.text)
      }
    }
    assert.deepEqual((await request('/task/of%20wiki')).json, { task: 'of wiki', payload: { of: 'wiki' } })
  })

  it('can be shut down only by users who may write to its datasource', async () => {
    assert.equal((await shutdown('of wiki', 'reader')).status, 403)
    assert.equal((await shutdown('of wiki', 'none')).status, 404)
    assert.equal((await shutdown('of koalas', 'writer')).status, 404)
    assert.equal((await shutdown('of wiki', 'writer')).status, 200)
    const { json } = await request('/task/of%20wiki/status')
    assert.equal((json as { status: { errorMsg: string } }).status.errorMsg, 'Shut down by [writer]')
  })

  it('is explained: what a pending one waits for, and why another failed', async () => {
    const sentences = async (id: string, user = 'stateReader') =>
      ((await request(`/task/${encodeURIComponent(id)}/explain`, user)).json as { sentences: string[] })
        .sentences
    const noSlots = 'No server has task slots: set [svc.worker.capacity] on an overlord or worker'
    assert.deepEqual(await sentences('of wiki'), ['The task is waiting', noSlots])
    await save('running', 'wiki')
    await claimTask(database, 'running', { name: 'w:1', host: 'w', port: 1, tlsPort: null }, 60_000)
    await database.query(sql`INSERT INTO task_locks (task_id, datasource, start_ms, end_ms, priority)
      VALUES ('running', 'wiki', 0, 86400000, 75)`)
    const kill = { type: 'kill', dataSource: 'wiki', interval: '1970-01-01/1970-01-03' }
    const { json } = await request('/task', 'all', { method: 'POST', body: kill })
    const { task } = json as { task: string }
    const waiting = await sentences(task)
    assert.match(
      waiting[1]!,
      /^Task \[running\] has locked \[1970-01-01.*\/1970-01-02.*\] with priority \[75\]/,
    )
    assert.match(waiting.at(-1)!, /^2 pending tasks .* start first$/)
    // Only readers of the state learn how many tasks of others are ahead.
    assert.deepEqual(await sentences(task, 'reader'), waiting.slice(0, -1))
    assert.match((await sentences('running'))[0]!, /^The task is running on \[w:1\] since /)
    await shutdown('of wiki', 'writer')
    assert.deepEqual(await sentences('of wiki'), [
      'The task failed before a worker started it',
      'Shut down by [writer]',
    ])
  })

  it('may have a compaction context only if a server of the cluster submits it', async () => {
    const body = (context: object) => ({
      type: 'compact',
      dataSource: 'wiki',
      ioConfig: { inputSpec: { type: 'interval', interval: '2026-01-01/2026-02-01' } },
      context,
    })
    const submit = (context: object, header: string) =>
      request('/task', 'all', { method: 'POST', body: body(context), headers: { Authorization: header } })
    const user = basicHeader('all', 'pw')
    for (const compaction of [{ slots: 1_000_000_000 }, { slots: -50 }, {}, 1, null]) {
      const { status, text } = await submit({ compaction }, user)
      assert.equal(status, 400, text)
      assert.match(
        text,
        /Invalid value .* for \[context\.compaction\]: expected no value, because this field is reserved for compaction/,
      )
    }
    assert.equal((await submit({ priority: 1 }, user)).status, 200)
    const escalator = basicHeader(escalatorUser, 'pw')
    assert.equal((await submit({ compaction: { slots: 2 } }, escalator)).status, 200)
  })

  it('is accepted from users who may write to its datasource, once per id, and queued immediately', async () => {
    const submit = (body: unknown, user = 'writer') => request('/task', user, { method: 'POST', body })
    const body = { ...indexTask('wiki', rowsOf(1)), id: 'mine' }
    assert.equal((await submit(body, 'reader')).status, 403)
    const before = woken
    assert.deepEqual((await submit(body)).json, { task: 'mine' })
    assert.equal(woken, before + 1)
    const again = await submit(body)
    assert.equal(again.status, 409)
    assert.equal((again.json as { errorMessage: string }).errorMessage, 'Task [mine] already exists')
    assert.equal((await submit(indexTask('koalas', rowsOf(1)))).status, 403)
    const bad: readonly unknown[] = [
      '{',
      'null',
      '[]',
      {},
      { type: 'unknown' },
      { ...body, id: 'x'.repeat(256) },
      { ...body, id: 7 },
      { ...body, id: 'a', context: { priority: 'high' } },
      { ...body, id: 'a', context: { priority: 1e9 } },
      { ...body, id: 'a\u0000b' },
      { ...body, id: 'a', groupId: 'a\u0000b' },
      { type: 'kill', id: 'a\u0000b', dataSource: 'wiki', interval: '2026-01-01/2026-01-02' },
      { type: 'kill', dataSource: 'wi\ud83d', interval: '2026-01-01/2026-01-02' },
      indexTask('wiki', { type: 'local', baseDir: '/etc', filter: '*' }),
      indexTask('wiki', { type: 'http', uris: ['http://127.0.0.1:1/'] }),
    ]
    for (const one of bad) {
      const sent = await request('/task', 'all', {
        method: 'POST',
        body: one,
        headers: { Authorization: basicHeader('all', 'pw'), 'Content-Type': 'application/json' },
      })
      assert.equal(sent.status, 400, `${JSON.stringify(one)}: ${sent.text}`)
    }
    assert.equal((await submit({ ...body, id: 'large', more: 'x'.repeat(200_000) })).status, 413)
    assert.equal(woken, before + 1)
  })
})

describe('a task id chosen by a user', () => {
  const submit = (dataSource: string, user: string, id = 'mine', more: object = {}) =>
    request('/task', user, { method: 'POST', body: { ...indexTask(dataSource, rowsOf(1)), id, ...more } })
  const messageOf = ({ json }: { json: unknown }) => (json as { errorMessage: string }).errorMessage

  it('does not reveal tasks that the user may not read', async () => {
    for (const id of ['mine', 'of wiki']) {
      if (id === 'mine') assert.equal((await submit('wiki', 'writer', id)).status, 200)
      const [taken, free] = [
        await submit('koalas', 'koalasWriter', id),
        await submit('koalas', 'koalasWriter', `${id}, but free`),
      ]
      assert.deepEqual([taken.status, free.status], [200, 200])
      assert.equal(taken.text.replace(id, `${id}, but free`), free.text)
      assert.deepEqual(taken.json, { task: id })
    }
  })

  it('must not be the id of a task in the same datasource or of one that the user may read', async () => {
    await submit('wiki', 'writer')
    for (const [dataSource, user] of [
      ['wiki', 'writer'],
      ['wiki', 'all'],
      ['koalas', 'all'],
    ] as const) {
      const { status, ...answer } = await submit(dataSource, user)
      assert.equal(status, 409)
      assert.equal(messageOf(answer), 'Task [mine] already exists')
    }
    assert.equal((await submit('koalas', 'all', 'of wiki')).status, 409)
  })

  it('finds the task that the user may read', async () => {
    await submit('wiki', 'writer')
    await submit('koalas', 'koalasWriter')
    const statusOf = async (user: string) => {
      const { json } = await request('/task/mine/status', user)
      return (json as { status?: { id: string; dataSource: string } }).status
    }
    assert.deepEqual(
      [(await statusOf('reader'))?.id, (await statusOf('reader'))?.dataSource],
      ['mine', 'wiki'],
    )
    assert.equal((await statusOf('koalasWriter'))?.dataSource, 'koalas')
    assert.equal((await statusOf('all'))?.dataSource, 'koalas', 'the newest one')
    assert.equal(await statusOf('none'), undefined)
    const payload = (await request('/task/mine', 'reader')).json as { task: string; payload: object }
    assert.equal(payload.task, 'mine')
    assert.ok(JSON.stringify(payload.payload).includes('"wiki"'))
    const known = await request('/taskStatus', 'state', {
      method: 'POST',
      body: ['mine', 'of wiki', 'unknown'],
    })
    assert.deepEqual(Object.keys(known.json as object).sort(), ['mine', 'of wiki'])
    assert.deepEqual(idsOf(await request('/tasks', 'reader')), ['mine', 'of wiki'])
    assert.deepEqual((await shutdown('mine', 'writer')).json, { task: 'mine' })
    assert.equal((await request('/task/mine/status', 'koalasWriter')).text.includes('FAILED'), false)
    assert.equal((await request('/task/mine/status', 'reader')).text.includes('FAILED'), true)
    assert.equal((await shutdown('mine', 'reader')).status, 403)
  })

  it('must not have control characters', async () => {
    for (const id of ['a\u0001b', 'a\u007fb', 'mine\u0001wiki']) {
      assert.equal((await submit('wiki', 'writer', id)).status, 400)
      assert.equal((await request(`/task/${encodeURIComponent(id)}/status`)).status, 400)
    }
  })
})

describe('used task slots', () => {
  it('are counted for any number of tasks', async () => {
    await database.query(sql`
      INSERT INTO tasks (id, group_id, type, datasource, priority, payload, created_at, submitted_by, state, worker)
      SELECT 't' || n, '', 'kill', 'wiki', 0, '{}', now() - n * interval '1 minute', '',
        CASE WHEN n > 1000 THEN 'RUNNING' ELSE 'PENDING' END, 'w'
      FROM generate_series(1, 1300) n`)
    const { json } = await request('/totalWorkerCapacity', 'config')
    assert.equal((json as { usedClusterCapacity: number }).usedClusterCapacity, 300)
    assert.equal((json as { maximumCapacityWithAutoScale: number }).maximumCapacityWithAutoScale, -1)
  })
})

describe('the log of a task', () => {
  it('causes no server error if the caller disconnects', async () => {
    mkdirSync(folders.logs, { recursive: true })
    writeFileSync(taskLogFile(folders.logs, 'of wiki'), 'x'.repeat(50_000_000))
    // A socket, because the test disconnects in the middle of the response.
    const socket = connect(context.port, '127.0.0.1')
    const authorization = basicHeader('all', 'pw')
    socket.write(
      `GET /svc/indexer/v1/task/of%20wiki/log HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\n\r\n`,
    )
    await new Promise((resolve) => socket.once('data', resolve))
    socket.destroy()
    await waitUntil(
      'the server notices the disconnect',
      () => context.logger.having('Caller disconnected before the response was complete').length > 0,
    )
    assert.equal((await request('/task/of%20wiki/log')).text.length, 50_000_000)
    assert.deepEqual(
      context.logger.lines.filter(({ level }) => level === 'error'),
      [],
    )
  })

  it('is shown only to users who may read the task', async () => {
    writeFileSync(taskLogFile(folders.logs, 'of wiki'), 'a line\n')
    assert.equal((await request('/task/of%20wiki/log', 'reader')).text, 'a line\n')
    assert.equal((await request('/task/of%20wiki/log', 'none')).status, 404)
    const none = await request('/task/of%20koalas/log')
    assert.equal(
      (none.json as { errorMessage: string }).errorMessage,
      'Task [of koalas] has no log on this server yet',
    )
  })

  it('is empty until the first line of a running task is stored', async () => {
    await claimTask(database, 'of koalas', { name: 'w', host: 'h', port: 1, tlsPort: null }, 60_000)
    for (const query of ['', '?offset=-100', '?offset=100']) {
      const { status, text } = await request(`/task/of%20koalas/log${query}`)
      assert.deepEqual([status, text], [200, ''])
    }
  })
})
