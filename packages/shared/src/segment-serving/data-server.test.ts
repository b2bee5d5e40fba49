import assert from 'node:assert/strict'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { after, beforeEach, describe, it, type TestContext } from 'node:test'
import { payloadOf, type SegmentPayload, segmentId } from '@svc/domain/segment'
import * as z from 'zod'
import { createLocalDeepStorage } from '../deep-storage/index.ts'
import { internal, jsonAnswer, jsonBody, route } from '../http/index.ts'
import { sql } from '../postgres/index.ts'
import {
  createRequestSender,
  openProducerConnection,
  type RequestSender,
  type SegmentRequest,
} from '../redis/index.ts'
import { openSegmentCache } from '../segment-cache/index.ts'
import {
  createTestContext,
  createTestStores,
  httpRequest,
  type TestContext as ServerContext,
  startReportTaker,
  temporaryFolder,
  waitUntil,
} from '../testing/index.ts'
import {
  createDataServer,
  readReport,
  type ServerReport,
  segmentFilesPath,
  segmentFilesRoute,
  servedSegmentsPath,
  servedSegmentsRoute,
  standbyReportPath,
  takeFiles,
} from './index.ts'

const stores = await createTestStores({ after })
const folder = temporaryFolder({ after })
const storageDirectory = path.join(folder, 'deep-storage')
const deepStorage = createLocalDeepStorage({ rootDirectory: storageDirectory })
let folders = 0
beforeEach(() => stores.database.query(sql`DELETE FROM leader_leases`))

/** Pushes a segment file to deep storage and returns its payload. */
async function storedSegment(number: number, content = `rows of ${number}`): Promise<SegmentPayload> {
  const key = {
    dataSource: 'wiki',
    interval: { start: number * 1000, end: number * 1000 + 1000 },
    version: '2026-01-01T00:00:00.000Z',
    partitionNum: 0,
  }
  const file = path.join(folder, `${number}.parquet`)
  writeFileSync(file, content)
  const { path: stored, checksum, sizeBytes } = await deepStorage.push(file, `wiki/${number}/0.parquet`)
  const segment = { ...key, id: segmentId(key), partitions: 1, sizeBytes, totalRows: 1 }
  return payloadOf(segment, {
    loadSpec: { type: 'local', path: stored, checksum },
    dimensions: '',
    metrics: '',
  })
}

/** Starts a coordinator leader that accepts reports and responds as `state` says. */
async function startLeader(scope: TestContext) {
  const reports: ServerReport[] = []
  const state = {
    term: 5,
    resync: false,
    resyncFrom: {} as Record<string, number>,
    isDown: false,
    voidUntilMs: {} as Record<string, number>,
  }
  await startReportTaker(scope, stores, ({ servers }) => {
    if (state.isDown) throw new Error('down')
    reports.push(...servers)
    const resync = state.resync ? servers.map(({ name }) => name) : []
    state.resync = false
    const { term, resyncFrom, voidUntilMs } = state
    return { term, resync, resyncFrom, voidUntilMs }
  })
  return { reports, state }
}

/** Starts a coordinator that is not the leader, and responds to reports as `state` says. */
async function startStandby(scope: TestContext) {
  const context = await createTestContext(scope, stores, 'coordinator')
  const reports: ServerReport[] = []
  const state = { answering: Promise.resolve(), resync: false }
  await context.serve({
    routes: [
      route({
        method: 'POST',
        path: standbyReportPath,
        access: internal,
        summary: '',
        body: jsonBody(readReport),
        answers: [jsonAnswer(z.looseObject({}))],
        handle: async ({ body: { servers } }) => {
          reports.push(...servers)
          await state.answering
          const resync = state.resync ? servers.map(({ name }) => name) : []
          state.resync = false
          return { resync }
        },
      }),
    ],
  })
  return { reports, state }
}

/** Starts a historical with its own cache. */
async function startHistorical(scope: TestContext, properties: Record<string, string> = {}) {
  const cache = path.join(folder, `cache${++folders}`)
  const context = await createTestContext(scope, stores, 'historical', {
    'svc.storage.storageDirectory': storageDirectory,
    'svc.segmentCache.locations': JSON.stringify([{ path: cache, maxSize: 1000 }]),
    'svc.server.tier': 'hot',
    'svc.server.priority': '3',
    ...properties,
  })
  const server = createDataServer(context, 'historical')
  scope.after(async () => {
    context.beginToStop()
    await server.stop()
  })
  await context.serve({ routes: [servedSegmentsRoute(server, context), segmentFilesRoute(server)] })
  return { context, server, cache }
}

async function openSender(scope: TestContext): Promise<RequestSender> {
  const settings = stores.settings('coordinator')
  const redis = openProducerConnection(settings)
  await waitUntil('the queue', () => redis.status === 'ready')
  scope.after(() => redis.disconnect())
  return createRequestSender(redis, settings.get('svc.queue.prefix'))
}

type DataServer = ReturnType<typeof createDataServer>
const request = (
  sender: RequestSender,
  context: ServerContext,
  server: DataServer,
  requests: readonly SegmentRequest[],
  given: { term?: number; session?: string; sentAtMs?: number; turbo?: boolean } = {},
) => {
  const { name } = context.node()
  const batch = { term: 5, session: server.served.session, server: name, sentAtMs: 1, requests }
  return sender.send(name, { ...batch, ...given })
}
const load = (payload: SegmentPayload): SegmentRequest => ({
  action: 'load',
  id: payload.identifier,
  sizeBytes: payload.size,
  payload: JSON.stringify(payload),
})
const drop = (payload: SegmentPayload): SegmentRequest => ({ action: 'drop', id: payload.identifier })

describe('a data server', () => {
  it('starts once the leader has its first report', async (scope) => {
    const { context, server } = await startHistorical(scope)
    const started = server.start()
    const { reports } = await startLeader(scope)
    await started
    const { name } = context.node()
    assert.deepEqual(reports[0], {
      name,
      process: name,
      type: 'historical',
      tier: 'hot',
      priority: 3,
      maxSizeBytes: 1000,
      usedSizeBytes: 0,
      session: server.served.session,
      term: 0,
      from: 0,
      to: 0,
      segments: [],
      changes: [],
      failures: [],
      voidUntilMs: 0,
    })
  })

  it('loads and drops segments on request, and reports the changes', async (scope) => {
    const { reports } = await startLeader(scope)
    const { context, server } = await startHistorical(scope)
    await server.start()
    const sender = await openSender(scope)
    const [one, two] = [await storedSegment(1), await storedSegment(2)]
    await request(sender, context, server, [load(one), load(two)])
    await waitUntil('both are reported', () => reports.at(-1)?.to === 2)
    assert.deepEqual(new Set(server.served.ids()), new Set([one.identifier, two.identifier]))
    assert.equal(reports.at(-1)?.usedSizeBytes, one.size + two.size)
    await request(sender, context, server, [drop(one)])
    const last = await waitUntil(
      'the drop is reported',
      () => reports.at(-1),
      (report) => report?.to === 3,
    )
    assert.deepEqual(last?.changes, [{ id: one.identifier, change: 'dropped' }])
    assert.deepEqual(server.served.ids(), [two.identifier])
    await waitUntil('the space is free', () => reports.at(-1)?.usedSizeBytes === two.size)
  })

  it('sends the files of served segments, and no others', async (scope) => {
    await startLeader(scope)
    const { context, server } = await startHistorical(scope)
    await server.start()
    const sender = await openSender(scope)
    const one = await storedSegment(1)
    await request(sender, context, server, [load(one)])
    await waitUntil('it is served', () => server.served.has(one.identifier))
    const fetchFiles = async (...ids: string[]) => {
      const body = await context.client.open(`http://${context.node().name}`, {
        method: 'POST',
        path: segmentFilesPath,
        body: { ids },
      })
      const files: (string | undefined)[] = []
      await takeFiles(body as AsyncIterable<Buffer>, ids.length, {
        begin: async (sizeBytes) => void files.push(sizeBytes === undefined ? undefined : ''),
        take: async (chunk) => void files.push(`${files.pop()}${chunk}`),
        end: async () => undefined,
      })
      return files
    }
    const others = ['other', '../../../etc/passwd', '', (await storedSegment(2)).identifier]
    assert.deepEqual(await fetchFiles(...others, one.identifier, one.identifier, 'other'), [
      ...others.map(() => undefined),
      'rows of 1',
      'rows of 1',
      undefined,
    ])
    await request(sender, context, server, [drop(one)])
    await waitUntil('it is dropped', () => !server.served.has(one.identifier))
    assert.deepEqual(await fetchFiles(one.identifier), [undefined])
  })

  it('handles duplicate requests only once', async (scope) => {
    const { reports } = await startLeader(scope)
    const { context, server } = await startHistorical(scope)
    await server.start()
    const sender = await openSender(scope)
    const one = await storedSegment(1)
    for (let times = 0; times < 3; times++) await request(sender, context, server, [load(one)])
    await request(sender, context, server, [drop(await storedSegment(9))])
    await waitUntil('it is reported', () => reports.at(-1)?.to === 1)
    assert.equal(server.served.sequence, 1)
    assert.deepEqual(reports.at(-1)?.failures, [])
  })

  it('ignores requests that its leader has revoked, and confirms that', async (scope) => {
    const { reports, state } = await startLeader(scope)
    const { context, server } = await startHistorical(scope)
    await server.start()
    const sender = await openSender(scope)
    const [early, late, later] = await Promise.all([1, 2, 3].map((number) => storedSegment(number)))
    assert.ok(early && late && later)
    await request(sender, context, server, [load(early)])
    await waitUntil('it is served', () => server.served.has(early.identifier))
    state.voidUntilMs = { [context.node().name]: 50 }
    await waitUntil('it is confirmed', () => reports.at(-1)?.voidUntilMs === 50)
    await request(sender, context, server, [drop(early)], { sentAtMs: 50 })
    await request(sender, context, server, [load(late)], { sentAtMs: 51 })
    await waitUntil('the later request is done', () => server.served.has(late.identifier))
    assert.ok(server.served.has(early.identifier))
    Object.assign(state, { term: 6, voidUntilMs: {} })
    await waitUntil('the new leader has revoked nothing', () => reports.at(-1)?.voidUntilMs === 0)
    await request(sender, context, server, [load(later)], { term: 6 })
    await waitUntil('its request is done', () => server.served.has(later.identifier))
  })

  it('continues after a failed request, and reports the reason', async (scope) => {
    const { reports } = await startLeader(scope)
    const { context, server } = await startHistorical(scope, { 'svc.segmentCache.numLoadingThreads': '1' })
    await server.start()
    const sender = await openSender(scope)
    const good = await storedSegment(1)
    const missing = await storedSegment(3)
    rmSync(path.join(storageDirectory, missing.loadSpec.path))
    const changed = await storedSegment(4)
    writeFileSync(path.join(storageDirectory, changed.loadSpec.path), 'x'.repeat(changed.size))
    const large = await storedSegment(5, 'x'.repeat(2000))
    const bad = [missing, changed, large]
    await request(sender, context, server, [...bad.map(load), load(good)])
    const failures = await waitUntil(
      'all failures',
      () => reports.flatMap((report) => report.failures),
      (reported) => reported.length === bad.length,
    )
    assert.deepEqual(
      failures.map(({ id, action }) => [id, action]),
      bad.map(({ identifier }) => [identifier, 'load']),
    )
    assert.match(failures[0]?.message ?? '', /is not in deep storage/)
    assert.match(failures[2]?.message ?? '', /needs \[2000\] bytes/)
    await waitUntil('the good one', () => server.served.has(good.identifier))
    assert.deepEqual(server.served.ids(), [good.identifier])
    assert.equal(context.logger.having('Failed to load segment').length, bad.length)
  })

  it('serves exactly what is on its disk after concurrent loads and drops of the same segments', async (scope) => {
    const { reports, state } = await startLeader(scope)
    const { context, server, cache } = await startHistorical(scope)
    await server.start()
    const sender = await openSender(scope)
    const segments = await Promise.all([1, 2, 3].map((number) => storedSegment(number)))
    const marker = await storedSegment(9)
    for (let round = 0; round < 30; round++) {
      for (const segment of segments) await request(sender, context, server, [load(segment)])
      for (const segment of segments) await request(sender, context, server, [drop(segment)])
      if (round % 3 === 0)
        await request(sender, context, server, [load(segments[round % 2] as SegmentPayload)])
    }
    await request(sender, context, server, [load(marker)])
    await waitUntil('all requests have started', () => server.served.has(marker.identifier))
    state.voidUntilMs = { [context.node().name]: 1 }
    await waitUntil('no request is running', () => reports.at(-1)?.voidUntilMs === 1)
    assert.deepEqual(
      reports.flatMap(({ failures }) => failures),
      [],
    )
    const onDisk = await openSegmentCache({
      serverName: 'reader',
      locations: [{ path: cache, maxSizeBytes: 1000 }],
      deepStorage,
      logger: context.logger,
    })
    assert.deepEqual(
      server.served.ids().toSorted(),
      onDisk
        .list()
        .map(({ identifier }) => identifier)
        .sort(),
    )
  })

  it('ignores batches from an old leader or for one of its earlier lifetimes', async (scope) => {
    const { reports, state } = await startLeader(scope)
    const { context, server } = await startHistorical(scope)
    await server.start()
    const sender = await openSender(scope)
    const [one, two, three] = [await storedSegment(1), await storedSegment(2), await storedSegment(3)]
    await request(sender, context, server, [load(one)], { session: 'earlier' })
    await request(sender, context, server, [load(one)], { term: 4 })
    await request(sender, context, server, [load(two)], { term: 5 })
    await waitUntil('the valid batch', () => server.served.has(two.identifier))
    // A server learns of a new leader from responses to reports, and from requests.
    state.term = 6
    const before = reports.length
    await waitUntil('the new leader has answered', () => reports.length > before + 1)
    await waitUntil('the server confirms the new leader', () => reports.at(-1)?.term === 6)
    await request(sender, context, server, [load(one)], { term: 5 })
    await request(sender, context, server, [load(three)], { term: 7 })
    await waitUntil('the valid batch', () => server.served.has(three.identifier))
    await request(sender, context, server, [load(one)], { term: 6 })
    const voided =
      'Ignored a stale batch of requests: it was revoked, sent by an earlier leader, or meant for an earlier session of this server'
    await waitUntil('all stale batches', () => context.logger.having(voided).length === 4)
    assert.equal(server.served.has(one.identifier), false)
  })

  it('serves the intact segments on its disk after a restart, in a new session', async (scope) => {
    const { reports } = await startLeader(scope)
    const first = await startHistorical(scope)
    await first.server.start()
    const sender = await openSender(scope)
    const [one, two] = [await storedSegment(1), await storedSegment(2)]
    await request(sender, first.context, first.server, [load(one), load(two)])
    await waitUntil('both', () => first.server.served.ids().length === 2)
    first.context.beginToStop()
    await first.server.stop()
    // This does not need deep storage.
    const locations = JSON.stringify([{ path: first.cache, maxSize: 1000 }])
    const second = await startHistorical(scope, {
      'svc.segmentCache.locations': locations,
      'svc.storage.storageDirectory': path.join(folder, 'nowhere'),
    })
    await second.server.start()
    assert.deepEqual(new Set(second.server.served.ids()), new Set([one.identifier, two.identifier]))
    assert.notEqual(second.server.served.session, first.server.served.session)
    const report = reports.find(({ session }) => session === second.server.served.session)
    assert.deepEqual(new Set(report?.segments), new Set([one.identifier, two.identifier]))
  })

  it('sends the full list when the leader requests it', async (scope) => {
    const { reports, state } = await startLeader(scope)
    const { context, server } = await startHistorical(scope)
    await server.start()
    const sender = await openSender(scope)
    const one = await storedSegment(1)
    await request(sender, context, server, [load(one)])
    await waitUntil('it is reported', () => reports.at(-1)?.to === 1)
    state.resync = true
    const full = await waitUntil(
      'the full list',
      () => reports.at(-1),
      (report) => report?.segments?.length === 1,
    )
    assert.deepEqual([full?.from, full?.to, full?.segments], [0, 1, [one.identifier]])
  })

  it('reports changes to the other coordinators too, without waiting for their responses', async (scope) => {
    const leader = await startLeader(scope)
    const standby = await startStandby(scope)
    const { promise, resolve } = Promise.withResolvers<void>()
    standby.state.answering = promise
    const { context, server } = await startHistorical(scope)
    await server.start()
    await waitUntil('the first report to the standby', () => standby.reports.length === 1)
    const sender = await openSender(scope)
    const [one, two] = [await storedSegment(1), await storedSegment(2)]
    await request(sender, context, server, [load(one)])
    await waitUntil('the leader knows the change', () => leader.reports.at(-1)?.to === 1)
    assert.equal(standby.reports.length, 1)
    resolve()
    const next = await waitUntil(
      'the standby gets the change',
      () => standby.reports.at(-1),
      (report) => report?.to === 1,
    )
    assert.deepEqual(next?.changes, [{ id: one.identifier, change: 'loaded' }])
    standby.state.resync = true
    await request(sender, context, server, [load(two)])
    const full = await waitUntil(
      'the standby gets the full list that it requested',
      () => standby.reports.at(-1),
      (report) => report?.segments?.length === 2,
    )
    assert.deepEqual([full?.from, full?.to, full?.failures], [0, 2, []])
  })

  it('sends only the changes that a new leader does not know from its time as a standby', async (scope) => {
    const { reports, state } = await startLeader(scope)
    const { context, server } = await startHistorical(scope)
    await server.start()
    const sender = await openSender(scope)
    const [one, two] = [await storedSegment(1), await storedSegment(2)]
    await request(sender, context, server, [load(one)])
    await waitUntil('the first segment', () => reports.at(-1)?.to === 1)
    await request(sender, context, server, [load(two)])
    await waitUntil('the second segment', () => reports.at(-1)?.to === 2)
    state.resyncFrom = { [context.node().name]: 1 }
    state.resync = true
    const next = await waitUntil(
      'the changes',
      () => reports.at(-1),
      (report) => report?.from === 1,
    )
    assert.deepEqual([next?.segments, next?.changes], [null, [{ id: two.identifier, change: 'loaded' }]])
  })

  it('reports the problem while no leader accepts its reports, and keeps serving', async (scope) => {
    const { state } = await startLeader(scope)
    const { context, server } = await startHistorical(scope)
    await server.start()
    const sender = await openSender(scope)
    state.isDown = true
    await waitUntil('the problem', () => context.readiness.problems() !== '')
    assert.match(
      context.readiness.problems(),
      /^Failed to report to the coordinator leader: \[http:.*Internal error/,
    )
    assert.equal(context.logger.having('Failed to report to the coordinator leader').length, 1)
    const one = await storedSegment(1)
    await request(sender, context, server, [load(one)])
    await waitUntil('it still loads segments', () => server.served.has(one.identifier))
    state.isDown = false
    await waitUntil('the problem is gone', () => context.readiness.problems() === '')
    assert.equal(context.logger.having('Resumed reporting to the coordinator leader').length, 1)
  })

  it('without a cache has no capacity, and logs a warning', async (scope) => {
    const { reports } = await startLeader(scope)
    const { context, server } = await startHistorical(scope, { 'svc.segmentCache.locations': '[]' })
    await server.start()
    assert.equal(reports[0]?.maxSizeBytes, 0)
    assert.match(context.logger.lines.map(({ message }) => message).join(), /cannot load segments/)
  })

  it('limits its capacity to the configured maximum', async (scope) => {
    const { reports } = await startLeader(scope)
    const { server } = await startHistorical(scope, { 'svc.server.maxSize': '500' })
    await server.start()
    assert.equal(reports[0]?.maxSizeBytes, 500)
  })

  it('fails to start if it cannot write to its cache', async (scope) => {
    await startLeader(scope)
    const blocked = path.join(folder, 'a-file')
    writeFileSync(blocked, '')
    mkdirSync(path.join(folder, 'x'), { recursive: true })
    const { server } = await startHistorical(scope, {
      'svc.segmentCache.locations': JSON.stringify([{ path: path.join(blocked, 'cache'), maxSize: 10 }]),
    })
    await assert.rejects(server.start(), { code: 'unavailable' })
  })
})

describe('the served segments', () => {
  type Answer = {
    counter: { counter: number; hash: string }
    resetCounter: boolean
    requests: { action: string; id: string }[]
  }
  const follow = async (context: ServerContext, query = '') => {
    const answer = await httpRequest(context.port, { path: `${servedSegmentsPath}?${query}` })
    assert.equal(answer.status, 200, answer.text)
    return answer.json as Answer
  }

  it('are sent as a full list, then as changes', async (scope) => {
    const { context, server } = await startHistorical(scope)
    server.served.add('a')
    const full = await follow(context)
    const hash = server.served.session
    assert.deepEqual(full, {
      counter: { counter: 1, hash },
      resetCounter: true,
      requests: [{ action: 'load', id: 'a' }],
    })
    server.served.add('b')
    server.served.remove('a')
    assert.deepEqual(await follow(context, `counter=1&hash=${hash}`), {
      counter: { counter: 3, hash },
      resetCounter: false,
      requests: [
        { action: 'load', id: 'b' },
        { action: 'drop', id: 'a' },
      ],
    })
    for (const query of [
      `counter=3&hash=other`,
      `counter=4&hash=${hash}`,
      `counter=-1&hash=${hash}`,
      'counter=3',
    ]) {
      const { resetCounter, requests } = await follow(context, query)
      assert.deepEqual([resetCounter, requests], [true, [{ action: 'load', id: 'b' }]], query)
    }
  })

  it('are sent when something changes (long polling)', async (scope) => {
    const { context, server } = await startHistorical(scope)
    const query = `counter=0&hash=${server.served.session}&timeout=60000`
    let isAnswered = false
    const answer = follow(context, query).finally(() => {
      isAnswered = true
    })
    await follow(context)
    assert.equal(isAnswered, false)
    server.served.add('a')
    assert.deepEqual((await answer).requests, [{ action: 'load', id: 'a' }])
  })

  it('are sent when the timeout ends, and when the server stops', async (scope) => {
    const { context, server } = await startHistorical(scope)
    const query = `counter=0&hash=${server.served.session}`
    const startedAt = performance.now()
    assert.deepEqual((await follow(context, `${query}&timeout=100`)).requests, [])
    assert.ok(performance.now() - startedAt >= 95)
    const held = follow(context, `${query}&timeout=60000`)
    // Answered after it, so by now the previous request is waiting.
    await follow(context)
    context.beginToStop()
    assert.deepEqual((await held).requests, [])
    const late = await httpRequest(context.port, { path: `${servedSegmentsPath}?${query}&timeout=60000` })
    assert.equal(
      late.status,
      503,
      'a stopping server neither delays followers nor makes them retry in a tight loop',
    )
  })

  for (const query of ['counter=x', 'counter=-2', 'timeout=-1', 'timeout=60001', 'counter=1.5']) {
    it(`are rejected for [${query}]`, async (scope) => {
      const { context } = await startHistorical(scope)
      const answer = await httpRequest(context.port, { path: `${servedSegmentsPath}?${query}` })
      assert.equal(answer.status, 400)
    })
  }
})
