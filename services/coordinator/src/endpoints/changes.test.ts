import assert from 'node:assert/strict'
import { arrayBuffer, text } from 'node:stream/consumers'
import { after, before, beforeEach, describe, it } from 'node:test'
import { decodeInventory, updateInventory } from '@svc/domain/preview'
import { payloadOf, type Segment, segmentId } from '@svc/domain/segment'
import { finish } from '@svc/domain/steps'
import type { Route } from '@svc/shared/http'
import {
  copySegments,
  ensureDefaultRules,
  notifyOfTopic,
  removeServerProblem,
  saveAudit,
  saveRules,
  saveServerProblem,
  saveTask,
  securityChannel,
  sql,
} from '@svc/shared/postgres'
import { type Caller, permittedNames } from '@svc/shared/security'
import {
  createHttpClient,
  createTestContext,
  createTestStores,
  serverReport,
  testCaller,
} from '@svc/shared/testing'
import { createChangeFeed, createInventories } from '../change-stream/index.ts'
import { createSegmentInventory, followRules, ServerInventory } from '../inventory/index.ts'
import { changesRoute } from './changes.ts'
import { inventoryRoute } from './inventory.ts'
import { firstDefaultRules } from './rules.ts'

const stores = await createTestStores({ after })
const { database } = stores
const context = await createTestContext({ after }, stores, 'coordinator')
const rules = followRules(database)
const servers = new ServerInventory(60_000)
const segments = createSegmentInventory(database, servers.table)
const dayMs = 86_400_000
const today = Date.UTC(2026, 5, 15)
let term: number | undefined = 1
let state = {
  known: true,
  settled: true,
  paused: false,
  reasons: [] as string[],
  shortages: [],
  scheduled: [],
}

/** Lets a header limit what the caller may read: names of datasources, and `STATE`. */
const asReader = (route: Route): Route => ({
  ...route,
  handle: (input) => {
    const allowed = input.request.headers['x-test-reads']?.toString().split(',')
    const caller = testCaller((_, type, name) => allowed?.includes(type === 'STATE' ? type : name) ?? true)
    return route.handle({ ...input, caller } as never)
  },
})

before(async () => {
  await rules.start()
  const clock = { now: () => today }
  const leadership = { term: () => term }
  const view = { context: { ...context, clock }, leadership, segments, servers, rules, dutyGroups: [] }
  const clusterState = {
    unknownReasons: () => [],
    current: async () => ({
      ...state,
      shownTo: async (caller: Caller) => ({ ...state, shortages: await permittedNames(caller, ['koalas']) }),
    }),
  }
  const feed = createChangeFeed(view, clusterState)
  const inventories = createInventories(view, clusterState, feed)
  await context.serve({
    routes: [changesRoute(view, feed), inventoryRoute(view, inventories)].map(asReader),
  })
})
beforeEach(async () => {
  term = 1
  await database.query(sql`DELETE FROM segments`)
  await database.query(sql`DELETE FROM rules`)
  await database.query(sql`DELETE FROM tasks`)
  await ensureDefaultRules(database, firstDefaultRules)
  rules.invalidate()
  await segments.refresh()
  servers.reset()
  await store([segment('wiki', 1), segment('koalas', 2)])
})

function segment(dataSource: string, daysAgo: number): Segment {
  const start = today - daysAgo * dayMs
  const key = { dataSource, interval: { start, end: start + dayMs }, version: 'v1', partitionNum: 0 }
  return { ...key, id: segmentId(key), partitions: 1, sizeBytes: 10, totalRows: 1 }
}
const store = (list: readonly Segment[]) =>
  database.transaction((transaction) => {
    const location = { loadSpec: { type: 'local' as const, path: 'x', checksum: 'y' } }
    const payload = { ...location, dimensions: '', metrics: '' }
    const rows = list.map((one) => ({ segment: one, payload: payloadOf(one, payload) }))
    return copySegments(transaction, rows, undefined, 0)
  })
const report = (served: readonly Segment[]) =>
  servers.take(
    [serverReport('a', { usedSizeBytes: served.length * 10, segments: served.map(({ id }) => id) })],
    1,
    performance.now(),
  )

const base = '/svc/coordinator/v1'
const client = createHttpClient(`http://127.0.0.1:${context.port}`)
after(() => client.close())
const reads = (...names: string[]) => ({ 'X-Test-Reads': names.join(',') })

interface ServerEvent {
  readonly event: string
  readonly id?: string
  readonly data: Record<string, unknown>
}

/** Reads events until one has the name, or the stream ends. */
async function eventsUntil(
  name: string,
  since: string | undefined,
  headers: Record<string, string> = {},
  onOpen: () => void = () => undefined,
): Promise<ServerEvent[]> {
  const query = since === undefined ? '' : `?since=${since}`
  const response = await client.open({ path: `${base}/changes${query}`, headers })
  assert.equal(response.statusCode, 200)
  assert.match(response.headers['content-type']!, /^text\/event-stream/)
  onOpen()
  const events: ServerEvent[] = []
  let rest = ''
  for await (const chunk of response) {
    const blocks = (rest + String(chunk)).split('\n\n')
    rest = blocks.pop()!
    for (const block of blocks) {
      const fields = Object.fromEntries(block.split('\n').map((line) => line.split(/: (.*)/s)))
      events.push({ ...fields, data: JSON.parse(fields.data) } as ServerEvent)
      if (fields.event === name) return events
    }
  }
  return events
}
const startId = async (headers = {}): Promise<string> =>
  (await eventsUntil('start', undefined, headers))[0]!.id!
const changesSince = async (since: string, headers = {}): Promise<ServerEvent> =>
  (await eventsUntil('changes', since, headers)).at(-1)!

describe('the stream of changes', () => {
  it('reports added, loaded, and removed segments, servers, and rules', async () => {
    const first = await startId()
    await store([segment('wiki', 3)])
    const added = await changesSince(first)
    assert.deepEqual(added.data.segments, {
      wiki: { added: 1, removed: 0, loaded: 0, dropped: 0, overshadowed: 0, visibleAgain: 0 },
    })
    report([segment('wiki', 3)])
    const loaded = await changesSince(added.id!)
    assert.equal((loaded.data.segments as Record<string, { loaded: number }>).wiki!.loaded, 1)
    assert.equal(loaded.data.servers, true)
    const audit = { author: '', comment: '', identity: '', ip: '' }
    await saveRules(database, 'wiki', '[{"type":"dropForever"}]', audit, 0)
    rules.invalidate()
    const changed = await changesSince(loaded.id!)
    assert.deepEqual([changed.data.segments, changed.data.rules], [{}, ['wiki']])
    state = { ...state, settled: false }
    const unsettled = await changesSince(changed.id!)
    assert.deepEqual(unsettled.data.clusterState, { ...state, shortages: ['koalas'] })
    await database.query(sql`UPDATE segments SET used = false WHERE datasource = 'koalas'`)
    const removed = await changesSince(unsettled.id!)
    assert.equal((removed.data.segments as Record<string, { removed: number }>).koalas!.removed, 1)
    // A reader that reconnects after all of this gets it at once.
    const all = await changesSince(first)
    assert.equal(all.id, removed.id)
    assert.deepEqual(Object.keys(all.data.segments as object).sort(), ['koalas', 'wiki'])
    assert.deepEqual([all.data.rules, all.data.servers], [['wiki'], true])
    assert.deepEqual(all.data.clusterState, unsettled.data.clusterState)
    assert.deepEqual((await changesSince(first, reads('STATE'))).data.clusterState, state)
  })

  it('has only the datasources that the caller may read, and servers only with READ on STATE', async () => {
    const first = await startId()
    await store([segment('wiki', 3), segment('koalas', 3)])
    report([])
    const { data } = await changesSince(first, reads('koalas'))
    assert.deepEqual(Object.keys(data.segments as object), ['koalas'])
    assert.equal('servers' in data || 'clusterState' in data, false)
    assert.equal((await changesSince(first, reads('STATE'))).data.servers, true)
  })

  it('reports tasks of the datasources that the caller may read', async () => {
    const first = await startId()
    await database.transaction(async (transaction) => {
      for (const dataSource of ['wiki', 'koalas']) {
        const task = { id: dataSource, groupId: 'g', type: 'kill', dataSource, priority: 0, payload: {} }
        await saveTask(transaction, { ...task, submittedBy: '' })
      }
    })
    assert.deepEqual((await changesSince(first, reads('koalas'))).data.tasks, ['koalas'])
    const { data } = await changesSince(first)
    assert.deepEqual([(data.tasks as string[]).toSorted(), data.segments], [['koalas', 'wiki'], {}])
  })

  it('reports audit entries, refusals, servers, and problems to those who may read them', async () => {
    const first = await startId()
    const entry = { type: 'rules', key: 'wiki', author: '', comment: '', identity: '', ip: '', payload: '' }
    await saveAudit(database, entry, 0)
    const audited = await changesSince(first)
    assert.deepEqual(audited.data.topics, ['audit'])
    await notifyOfTopic(database, 'refusals')
    const refused = await changesSince(audited.id!)
    assert.deepEqual(refused.data.topics, ['refusals'])
    const problem = { role: 'historical', name: 'h:1', problem: 'Its disk is full' } as const
    await saveServerProblem(database, problem)
    const reported = await changesSince(refused.id!)
    assert.deepEqual(reported.data.topics, ['serverProblems'])
    await removeServerProblem(database, problem)
    const gone = await changesSince(reported.id!)
    assert.deepEqual(gone.data.topics, ['serverProblems'])
    const topicsFor = async (...names: string[]) =>
      ((await changesSince(first, reads(...names))).data.topics as string[]).toSorted()
    assert.deepEqual(await topicsFor('STATE'), ['serverProblems'])
    assert.deepEqual(await topicsFor('CONFIG'), ['audit'])
    assert.deepEqual(await topicsFor('security'), ['audit', 'refusals'])
    assert.deepEqual(await topicsFor('wiki'), [])
  })

  it('ends after a change to users or roles, and the next one starts with it', async () => {
    const first = await startId()
    const opened = Promise.withResolvers<void>()
    const ending = eventsUntil('end', first, {}, opened.resolve)
    await opened.promise
    // The stream has caught up.
    await store([segment('wiki', 3)])
    await changesSince(first)
    await database.query(sql`SELECT pg_notify(${securityChannel}, '')`)
    const { event, data } = (await ending).at(-1)!
    assert.deepEqual([event, data.reason], ['end', 'Users or roles have changed: log in again to continue'])
    assert.deepEqual((await changesSince(first, reads('wiki'))).data.topics, ['access'])
  })

  it('starts again after an unknown event, or when another leader has taken over', async () => {
    for (const unknown of ['x.1', 'nonsense', `${(await startId()).split('.')[0]}.99999`]) {
      const events = await eventsUntil('end', unknown)
      assert.deepEqual(
        events.map(({ event }) => event),
        ['reset'],
      )
      assert.equal(events[0]!.id, await startId())
    }
    const last = await startId()
    term = 2
    assert.equal((await eventsUntil('reset', last)).at(-1)!.event, 'reset')
  })

  it('ends when the coordinator loses leadership', async () => {
    const last = await startId()
    const opened = Promise.withResolvers<void>()
    const ending = eventsUntil('end', last, {}, opened.resolve)
    await opened.promise
    term = undefined
    await store([segment('wiki', 3)])
    const { event, data } = (await ending).at(-1)!
    assert.deepEqual([event, data.reason], ['end', 'This coordinator is no longer the leader'])
  })

  it('is refused with 429 to a caller with too many streams', async () => {
    const last = await startId()
    const leaving = new AbortController()
    const open = () => client.open({ path: `${base}/changes?since=${last}`, signal: leaving.signal })
    const streams = await Promise.all(Array.from({ length: 9 }, open))
    const refused = streams.filter(({ statusCode }) => statusCode === 429)
    assert.equal(refused.length, 1)
    assert.match(await text(refused[0]!), /Too many open streams for user \[.*\]: expected at most \[8\]/)
    leaving.abort()
  })
})

describe('an inventory since another one', () => {
  const inventory = async (since: string | undefined, headers = {}) => {
    const query = since === undefined ? '' : `?since=${since}`
    const response = await client.open({ path: `${base}/inventory${query}`, headers })
    const decoded = decodeInventory(await arrayBuffer(response))
    return { tag: response.headers.etag!.slice(1, -1), decoded }
  }
  const idsIn = ({ datasources }: ReturnType<typeof decodeInventory>): string[] =>
    datasources
      .flatMap(({ segments: list }) =>
        Array.from({ length: list.count }, (_, index) => `${list.dataSource} ${list.start(index)}`),
      )
      .sort()

  it('has only what has changed, which makes them equal', async () => {
    const first = await inventory(undefined)
    await store([segment('wiki', 3)])
    await database.query(sql`UPDATE segments SET used = false WHERE datasource = 'koalas'`)
    const second = await inventory(first.tag)
    assert.deepEqual(idsIn(second.decoded), [`wiki ${today - 3 * dayMs}`])
    assert.deepEqual([...second.decoded.removed!.keys()], ['koalas'])
    const updated = finish(updateInventory(first.decoded, second.decoded))
    assert.deepEqual(idsIn(updated), idsIn((await inventory(undefined)).decoded))
    assert.equal(updated.rules.size, first.decoded.rules.size)
  })

  it('has everything if the other one is unknown, or if the caller may read other datasources now', async () => {
    for (const since of ['x', 'x.1.2.y']) {
      const { decoded } = await inventory(since)
      assert.deepEqual([decoded.removed, idsIn(decoded).length], [undefined, 2])
    }
    const { tag, decoded } = await inventory(undefined, reads('wiki', 'STATE'))
    assert.deepEqual([decoded.isComplete, idsIn(decoded).length], [false, 1])
    const more = await inventory(tag, reads('wiki', 'koalas', 'STATE'))
    assert.deepEqual([more.decoded.removed, idsIn(more.decoded).length], [undefined, 2])
    await store([segment('koalas', 3)])
    const { decoded: next } = await inventory(tag, reads('wiki', 'STATE'))
    assert.deepEqual([next.removed?.size, idsIn(next)], [0, []])
  })
})
