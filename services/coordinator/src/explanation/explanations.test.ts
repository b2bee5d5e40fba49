import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import type { Unplaced } from '@svc/domain/loading'
import type { TierLack } from '@svc/domain/retention'
import { type Segment, segmentId } from '@svc/domain/segment'
import { importAuthor } from '@svc/domain/snapshot'
import { formatInstant, formatInterval } from '@svc/domain/time'
import { coordinatorConfigName } from '@svc/shared/coordinator-dynamic-config'
import {
  ensureDefaultRules,
  eraseUnused,
  markUnused,
  removeServerProblem,
  saveConfig,
  saveRules,
  saveServerProblem,
  saveTask,
  scopedTaskId,
  sql,
  type UnusedCause,
} from '@svc/shared/postgres'
import type { Caller } from '@svc/shared/security'
import { ReportLog, ServedSegments } from '@svc/shared/segment-serving'
import {
  createTestContext,
  createTestStores,
  serverReport,
  storeSegments,
  testCaller,
} from '@svc/shared/testing'
import { type Shortage, shortagesOf } from '../cluster-state/index.ts'
import { firstDefaultRules } from '../endpoints/rules.ts'
import {
  createSegmentInventory,
  followRules,
  loadCoordinatorConfig,
  ServerInventory,
} from '../inventory/index.ts'
import { createExplanations } from './index.ts'

const stores = await createTestStores({ after })
const { database } = stores
const context = await createTestContext({ after }, stores, 'coordinator')
const rules = followRules(database)
const awaited: { name: string; tier: string | undefined }[] = []
let shortages: readonly Shortage[] = []
let isSettled = false
const servers = new ServerInventory(60_000)
const segments = createSegmentInventory(database, servers.table)
const ledSinceMs = performance.now()
const state: Parameters<typeof createExplanations>[0] = {
  context,
  segments,
  servers,
  rules,
  config: () => loadCoordinatorConfig(database),
  reportedServers: { awaited: () => awaited },
  clusterState: {
    lastShortages: () => shortages,
    current: async () => {
      const found = { reasons: [], scheduled: [], shortages: ['Server [h2] failed'] }
      const known = { ...found, known: true, settled: isSettled, paused: false }
      return { ...known, shownTo: async () => known }
    },
  },
  loadMeter: { rateOf: () => undefined },
  loading: { untilNextRunMs: () => 3000, status: () => ({ runs: 0 }) },
  leaderSinceMs: () => ledSinceMs,
}
const explanations = createExplanations(state)
const callerWith = (...granted: string[]) =>
  testCaller((action, type) => granted.includes(`${action} ${type}`))
const operator = callerWith('READ STATE', 'READ CONFIG', 'READ DATASOURCE')
// Reads servers, but no datasource.
const stateReader = callerWith('READ STATE')
const reader = callerWith()

before(() => rules.start())
beforeEach(async () => {
  isSettled = false
  shortages = []
  for (const table of [sql`segments`, sql`rules`]) await database.query(sql`DELETE FROM ${table}`)
  await ensureDefaultRules(database, firstDefaultRules)
  rules.invalidate()
  servers.reset()
})

function segment(start: number, dataSource = 'wiki'): Segment {
  const key = { dataSource, interval: { start, end: start + 1 }, version: 'v1', partitionNum: 0 }
  return { ...key, id: segmentId(key), partitions: 1, sizeBytes: 10, totalRows: 1 }
}
const audit = { author: '', comment: '', identity: '', ip: '' }
async function setRules(tieredReplicants: object): Promise<void> {
  await saveRules(database, 'wiki', JSON.stringify([{ type: 'loadForever', tieredReplicants }]), audit, 0)
  rules.invalidate()
}
const log = new ReportLog(new ServedSegments())
/** Takes a report of a server in the tier `hot`. */
function report(name: string, served: readonly Segment[], more: object = {}): void {
  const next = serverReport(name, {
    ...log.next(),
    maxSizeBytes: 100,
    segments: served.map(({ id }) => id),
    ...more,
  })
  servers.take([next], 1, performance.now())
}
/** Returns shortages, given by tier and datasource. */
function shortagesIn(
  lacking: Partial<Record<TierLack, Record<string, Record<string, number>>>>,
  unplaced: readonly Unplaced[] = [],
): Shortage[] {
  const partsOf = (copiesOf: Record<string, number>) =>
    Object.entries(copiesOf).map(([name, copies]) => ({
      copies,
      segments: new Map([[segments.table.datasourceNumber(name), 1]]),
    }))
  return shortagesOf({
    unplaced: () => unplaced,
    lacking: (lack) =>
      new Map(Object.entries(lacking[lack] ?? {}).map(([tier, copiesOf]) => [tier, partsOf(copiesOf)])),
  })
}
/** Returns replicas without space in the tier `hot`, given by datasource. */
const noRoom = (sizesOf: Record<string, { copies: number; minSizeBytes: number }>): Unplaced => ({
  ...{ tier: 'hot', reason: 'noRoom', copies: 0, exampleRow: 0, minSizeBytes: 0 },
  ofDatasources: new Map(
    Object.entries(sizesOf).map(([name, size]) => [segments.table.datasourceNumber(name), size]),
  ),
})
const wikiReader = testCaller(
  (action, type, name) => action === 'READ' && (type === 'STATE' || name === 'wiki'),
)
const codesOf = (answer: object) =>
  (answer as { causes: readonly { code: string }[] }).causes.map(({ code }) => code)

describe('the explanation of a segment', () => {
  it('names a tier without servers, no matter how many there are', async () => {
    const tiers = Array.from({ length: 30 }, (_, index) => [`t${index}`, { wiki: 2 }])
    isSettled = true
    shortages = shortagesIn({ tiersWithoutServers: Object.fromEntries(tiers) })
    assert.deepEqual((await explanations.ofTier('t29', operator)).sentences, [
      'Tier [t29] has no servers for 2 replicas',
    ])
    await assert.rejects(explanations.ofTier('t', operator), { code: 'notFound' })
  })

  it('does not show tiers in which only datasources lack replicas that the caller may not read', async () => {
    await storeSegments(database, [segment(1), segment(1, 'koalas')])
    await segments.refresh()
    isSettled = true
    shortages = shortagesIn({
      tiersWithoutServers: { cold: { wiki: 1, koalas: 1 }, open: { wiki: 2 }, secret: { koalas: 2 } },
    })
    const sentencesOf = async (caller: Caller) => (await explanations.ofCluster(caller)).sentences.slice(1)
    const textOf = (tier: string, replicas = '2 replicas') => `Tier [${tier}] has no servers for ${replicas}`
    assert.deepEqual(
      await sentencesOf(operator),
      ['cold', 'open', 'secret'].map((tier) => textOf(tier)),
    )
    assert.deepEqual(await sentencesOf(wikiReader), [textOf('cold', '1 replica'), textOf('open')])
    // Replicas that the caller may not know are missing.
    assert.deepEqual(await explanations.ofCluster(stateReader), {
      state: 'settled',
      sentences: ['The cluster has no used segments that you may read; there is nothing to load or drop'],
      unavailableServers: [],
    })
    assert.deepEqual((await explanations.ofTier('secret', operator)).sentences, [textOf('secret')])
    assert.deepEqual((await explanations.ofTier('open', wikiReader)).sentences, [textOf('open')])
    const messageOf = async (tier: string) =>
      await explanations.ofTier(tier, wikiReader).then(
        () => '',
        ({ message }: Error) => message.replace(tier, ''),
      )
    assert.match(await messageOf('secret'), /^Tier \[\] does not exist/)
    assert.equal(await messageOf('secret'), await messageOf('missing'))
  })

  it('shows the last failure of a server, but not to callers who may not read servers', async () => {
    const one = segment(1)
    await storeSegments(database, [one])
    await segments.refresh()
    await setRules({ hot: 2 })
    report('h1', [one])
    report('h2', [])
    servers.note('h2', new Map([[one.id, { action: 'load', sizeBytes: 10, sentAtMs: 0 }]]))
    const failures = [{ id: one.id, action: 'load', message: 'secret path: disk full' }]
    report('h2', [], { session: log.next().session, segments: null, failures })
    const answer = await explanations.ofSegment('wiki', one.id, operator)
    const text = JSON.stringify(answer)
    assert.deepEqual(codesOf(answer), ['loadFailed'])
    assert.match(text, /Failed to load the segment at .* \(secret path: disk full\); the next attempt is at/)
    assert.match(text, /"code":"retry"/)
    assert.deepEqual(await explanations.ofCluster(operator), {
      state: 'working',
      sentences: [
        'Server [h2] failed to load 1 segment (secret path: disk full) and may retry',
        'The next duty run starts in 3 s',
        'Tier [hot] does not load 1 replica because the servers that have space failed to load them',
      ],
      unavailableServers: [],
    })
    const { sentences } = await explanations.ofServer('h2', operator)
    assert.match(
      sentences.join('. '),
      /^Server \[\S+\] is a historical in tier \[hot\] and serves 0 segments: 0 B of 100 B/,
    )
    assert.match(
      sentences.join('. '),
      /Server \[h2\] failed to load 1 segment \(secret path: disk full\) and may retry/,
    )
    await assert.rejects(explanations.ofServer('h3', operator), { code: 'notFound' })
    await assert.rejects(explanations.ofTier('cold', operator), { code: 'notFound' })
    assert.match(
      (await explanations.ofTier('hot', operator)).sentences.join('. '),
      /^Tier \[hot\] has 2 servers: 0 B of 200 B/,
    )
    for (const answer of [
      await explanations.ofCluster(stateReader),
      await explanations.ofServer('h2', stateReader),
      await explanations.ofTier('hot', stateReader),
    ])
      assert.doesNotMatch(JSON.stringify(answer), /secret|failed/)
    const limited = JSON.stringify(await explanations.ofSegment('wiki', one.id, reader))
    assert.match(limited, /"server":"h1"/)
    assert.doesNotMatch(limited, /secret|h2|candidates/)
  })

  it('says what the next run of an idle cluster decides', async () => {
    const next = 'The next duty run starts in 3 s'
    const sentencesOf = async () => (await explanations.ofCluster(operator)).sentences
    await segments.refresh()
    report('h1', [])
    assert.deepEqual(await sentencesOf(), [
      'The cluster has no used segments, and nothing is being loaded or dropped',
      next,
    ])
    const one = segment(1)
    await storeSegments(database, [one])
    await segments.refresh()
    await setRules({ hot: 1 })
    assert.deepEqual(await sentencesOf(), ['The next duty run, in 3 s, requests 1 load'])
    report('h1', [one])
    assert.deepEqual(await sentencesOf(), [
      'Every segment has the replicas that the rules require, and nothing is being loaded or dropped',
      next,
    ])
    await setRules({ hot: 2 })
    assert.deepEqual(await sentencesOf(), [
      next,
      'Tier [hot] has too few servers for 1 replica: a server loads at most one replica of a segment',
    ])
    await saveRules(database, 'wiki', JSON.stringify([{ type: 'dropForever' }]), audit, 0)
    rules.invalidate()
    assert.deepEqual(await sentencesOf(), [
      'The next duty run, in 3 s, requests 1 drop and marks 1 segment as unused',
    ])
    servers.note('h1', new Map([[one.id, { action: 'drop', sizeBytes: 10, sentAtMs: 0 }]]))
    assert.deepEqual(await sentencesOf(), ['Tier [hot] is dropping 1 segment'])
  })

  it('does not show failures of loads that no rule requires any more', async () => {
    const one = segment(1)
    await storeSegments(database, [one])
    await segments.refresh()
    await setRules({ hot: 1 })
    report('h1', [])
    servers.note('h1', new Map([[one.id, { action: 'load', sizeBytes: 10, sentAtMs: 0 }]]))
    const failures = [{ id: one.id, action: 'load', message: 'disk full' }]
    report('h1', [], { session: log.next().session, segments: null, failures })
    const shown = async () => JSON.stringify(await explanations.ofCluster(operator))
    assert.match(await shown(), /\[h1\] failed to load 1 segment \(disk full\)/)
    report('h2', [one])
    assert.doesNotMatch(await shown(), /failed to load/)
  })

  it('says that a server is full if the smallest segment that its tier has no space for does not fit', async () => {
    report('h1', [], { usedSizeBytes: 95 })
    isSettled = true
    shortages = shortagesIn({}, [noRoom({ wiki: { copies: 1, minSizeBytes: 10 } })])
    assert.equal(
      (await explanations.ofServer('h1', operator)).sentences.at(-1),
      'It is full: 5 B is free, and the smallest segment that is waiting for space in its tier needs 10 B',
    )
  })

  it('counts only segments and replicas of datasources that the caller may read', async () => {
    const all = [segment(1), segment(1, 'big'), segment(2, 'big')]
    await storeSegments(database, all)
    await segments.refresh()
    report('h1', all, { usedSizeBytes: 95 })
    isSettled = true
    shortages = shortagesIn({ tiersWithTooFewServers: { hot: { wiki: 18, big: 100 } } }, [
      noRoom({ big: { copies: 3, minSizeBytes: 6 }, wiki: { copies: 1, minSizeBytes: 10 } }),
    ])
    const tooFew = (replicas: string) =>
      `Tier [hot] has too few servers for ${replicas}: a server loads at most one replica of a segment`
    for (const [caller, replicas] of [
      [operator, ['4 replicas', '118 replicas']],
      [wikiReader, ['1 replica', '18 replicas']],
    ] as const)
      for (const { sentences } of [
        await explanations.ofCluster(caller),
        await explanations.ofTier('hot', caller),
      ])
        assert.deepEqual(sentences.slice(-2), [
          `Tier [hot] has no space for ${replicas[0]}`,
          tooFew(replicas[1]),
        ])
    const served = async (caller: Caller) => (await explanations.ofServer('h1', caller)).sentences.join()
    assert.match(await served(operator), /serves 3 segments: 95 B .* needs 6 B$/)
    assert.match(await served(wikiReader), /serves 1 segment: 95 B .* needs 10 B$/)
  })

  it('shows queues without segments of datasources that the caller may not read', async () => {
    const [own, other, dropped] = [segment(1), segment(1, 'big'), segment(2, 'big')]
    await storeSegments(database, [own, other, dropped])
    await segments.refresh()
    await setRules({ hot: 1 })
    report('h1', [dropped])
    const request = (action: 'load' | 'drop') => ({ action, sizeBytes: 10, sentAtMs: performance.now() })
    servers.note(
      'h1',
      new Map([
        [other.id, request('load')],
        [own.id, request('load')],
        [dropped.id, request('drop')],
      ]),
    )
    const textOf = async (caller: Caller) =>
      JSON.stringify([
        await explanations.ofCluster(caller),
        await explanations.ofTier('hot', caller),
        await explanations.ofServer('h1', caller),
      ])
    assert.equal((await textOf(operator)).match(/is loading 2 segments \(20 B\)/g)?.length, 3)
    assert.equal((await textOf(operator)).match(/is dropping 1 segment/g)?.length, 3)
    assert.equal((await textOf(wikiReader)).match(/is loading 1 segment \(10 B\)/g)?.length, 3)
    assert.doesNotMatch(await textOf(wikiReader), /dropping|2 segments/)
    assert.doesNotMatch(await textOf(stateReader), /[0-9] (load|drop)|is loading|is dropping/)
    const placeOf = async (caller: Caller) =>
      JSON.stringify((await explanations.ofSegment('wiki', own.id, caller)).next)
    assert.match(await placeOf(operator), /at position \[\d\] of \[2\].*"place":/)
    assert.match(await placeOf(wikiReader), /Server \[h1\] loads the segment"/)
    assert.doesNotMatch(await placeOf(wikiReader), /position|place/)
  })

  it('counts in what the next run does only segments of datasources that the caller may read', async () => {
    await storeSegments(database, [segment(1), segment(1, 'big'), segment(2, 'big')])
    await segments.refresh()
    await setRules({ hot: 1 })
    await saveRules(
      database,
      'big',
      JSON.stringify([{ type: 'loadForever', tieredReplicants: { hot: 1 } }]),
      audit,
      0,
    )
    rules.invalidate()
    report('h1', [])
    const sentencesOf = async (caller: Caller) => (await explanations.ofCluster(caller)).sentences
    // Found by the last run, before the rules changed.
    shortages = shortagesIn({ tiersWithoutServers: { old: { wiki: 5 } } })
    assert.deepEqual(await sentencesOf(operator), ['The next duty run, in 3 s, requests 3 loads'])
    assert.deepEqual(await sentencesOf(wikiReader), ['The next duty run, in 3 s, requests 1 load'])
    await setRules({ hot: 1, missing: 2 })
    assert.deepEqual(await sentencesOf(operator), [
      'The next duty run, in 3 s, requests 3 loads',
      'Tier [missing] has no servers for 2 replicas',
    ])
    assert.deepEqual((await explanations.ofTier('missing', operator)).sentences, [
      'Tier [missing] has no servers for 2 replicas',
    ])
    await assert.rejects(explanations.ofTier('old', operator), { code: 'notFound' })
    // The same while servers load segments.
    const loading = { action: 'load', sizeBytes: 10, sentAtMs: 0 } as const
    servers.note('h1', new Map([[segment(1).id, loading]]))
    assert.deepEqual(await sentencesOf(operator), [
      'Tier [hot] is loading 1 segment (10 B)',
      'Tier [missing] has no servers for 2 replicas',
    ])
    await setRules({ hot: 1 })
    assert.deepEqual(await sentencesOf(operator), ['Tier [hot] is loading 1 segment (10 B)'])
  })

  it('names servers that cannot serve, and why', async () => {
    await saveServerProblem(database, { role: 'broker', name: 'b:1', problem: 'The certificate has expired' })
    const { sentences } = await explanations.ofCluster(operator)
    assert.ok(
      sentences.includes('The broker [b:1] is not ready: The certificate has expired'),
      sentences.join(),
    )
    assert.deepEqual((await explanations.ofServer('b:1', operator)).sentences, [
      'The broker [b:1] is not ready: The certificate has expired',
    ])
    await removeServerProblem(database, { role: 'broker', name: 'b:1' })
  })

  it('says that a server may retry a load only if the next runs may assign it', async () => {
    const one = segment(1)
    await storeSegments(database, [one])
    await segments.refresh()
    await setRules({ hot: 1 })
    for (const name of ['h1', 'h2']) report(name, [])
    servers.note('h1', new Map([[one.id, { action: 'load', sizeBytes: 10, sentAtMs: 0 }]]))
    const failures = [{ id: one.id, action: 'load', message: 'disk full' }]
    report('h1', [], { session: log.next().session, segments: null, failures })
    const failureWith = async (config: object) => {
      await database.query(sql`DELETE FROM dynamic_configs`)
      await saveConfig(database, coordinatorConfigName, JSON.stringify(config), 0, audit, 0)
      const { sentences } = await explanations.ofServer('h1', operator)
      return sentences.filter((sentence) => sentence.includes('failed'))
    }
    const text = 'Server [h1] failed to load 1 segment (disk full)'
    assert.deepEqual(await failureWith({}), [`${text} and may retry`])
    assert.deepEqual(await failureWith({ decommissioningNodes: ['h1'] }), [text])
    assert.deepEqual(await failureWith({ pauseCoordination: true }), [text])
    // A clone loads only the segments of its source.
    assert.deepEqual(await failureWith({ cloneServers: { h1: 'h2' } }), [])
    await database.query(sql`DELETE FROM dynamic_configs`)
  })

  it('names decommissioning servers in the explanations of their tier and the cluster, and does not count clones', async () => {
    for (const name of ['h1', 'h2', 'h3']) report(name, [])
    const config = { decommissioningNodes: ['h2'], cloneServers: { h3: 'gone', h4: 'h1' } }
    await saveConfig(database, coordinatorConfigName, JSON.stringify(config), 0, audit, 0)
    const { sentences } = await explanations.ofTier('hot', operator)
    assert.equal(sentences[0], 'Tier [hot] has 2 servers, 1 of them decommissioning: 0 B of 200 B used')
    assert.match(
      JSON.stringify(await explanations.ofCluster(operator)),
      /Server \[h2\] is decommissioning; 0 B of segments are left on it/,
    )
    assert.deepEqual(
      sentences.filter((sentence) => sentence.includes('clone')),
      ['Server [h3] is a clone of [gone]; its copies do not count as replicas'],
    )
    report('h4', [], { tier: 'copies' })
    // The tier exists, although rules cannot load anything there.
    assert.equal(
      (await explanations.ofTier('copies', operator)).sentences[0],
      'Tier [copies] has no servers that are not clones',
    )
    const ofClone = (await explanations.ofServer('h3', operator)).sentences
    assert.match(ofClone.join(), /It is a clone of \[gone\], which is unavailable/)
    await database.query(sql`DELETE FROM dynamic_configs`)
  })

  it('names the virtual servers of a process', async () => {
    for (const name of ['v1', 'v2']) report(name, [], { process: 'p1' })
    assert.deepEqual((await explanations.ofServer('p1', operator)).sentences, [
      '[p1] is a process with 2 virtual servers, for example [v1]',
    ])
    servers.expire(performance.now() + 70_000, 900_000)
    const settings = stores.settings('coordinator', { 'svc.coordinator.expectedServers': '["p1"]' })
    const expecting = createExplanations({ ...state, context: { ...context, settings } })
    assert.deepEqual((await expecting.ofServer('p1', operator)).sentences, [
      '[p1] is a process with 2 virtual servers that stopped reporting, for example [v1]',
    ])
    assert.deepEqual((await expecting.ofTier('hot', operator)).sentences, [
      'Tier [hot] has no servers',
      '2 servers of tier [hot] stopped reporting, for example [v1]',
    ])
  })

  it('says when a server that stopped reporting was last seen', async () => {
    report('h1', [])
    servers.expire(performance.now() + 70_000, 900_000)
    const { sentences } = await explanations.ofServer('h1', operator)
    assert.match(
      sentences.join(),
      /^Server \[h1\], a historical in tier \[hot\], stopped reporting: it was last seen at 20.*Z, and its replicas no longer count$/,
    )
    report('h1', [])
    assert.match((await explanations.ofServer('h1', operator)).sentences.join(), /serves 0 segments/)
    awaited.push({ name: 'h2', tier: 'hot' })
    assert.deepEqual((await explanations.ofServer('h2', operator)).sentences, [
      'The leader is waiting for the first report from [h2]',
    ])
    await saveConfig(
      database,
      coordinatorConfigName,
      JSON.stringify({ decommissioningNodes: ['h2'] }),
      0,
      audit,
      0,
    )
    assert.deepEqual((await explanations.ofServer('h2', operator)).sentences, [
      'The leader is waiting for the first report from [h2]',
      'It is decommissioning, so no segments are assigned to it',
    ])
    await assert.rejects(explanations.ofServer('h3', operator), {
      code: 'notFound',
      message:
        'Server [h3] does not exist. The leader is still waiting for reports from 1 server, for example [h2]',
    })
    report('h2', [])
    const sentencesOfTier = async () => (await explanations.ofTier('hot', operator)).sentences
    assert.match(
      (await sentencesOfTier()).join('. '),
      /has 2 servers, 1 of them decommissioning.* Server \[h2\] is decommissioning; /,
    )
    await database.query(sql`DELETE FROM dynamic_configs`)
    awaited.length = 0
  })

  it('names expected servers that have not announced themselves', async () => {
    const settings = stores.settings('coordinator', { 'svc.coordinator.expectedServers': '["h1", "h9"]' })
    const { ofSegment, ofServer, ofTier } = createExplanations({
      ...state,
      context: { ...context, settings },
    })
    const one = segment(1)
    await storeSegments(database, [one])
    await segments.refresh()
    await setRules({ hot: 2 })
    report('h1', [one])
    assert.deepEqual((await ofServer('h9', operator)).sentences, [
      'The leader is waiting for the first report from [h9], which is in [svc.coordinator.expectedServers] but has not announced itself',
    ])
    assert.match(
      (await ofTier('hot', operator)).sentences.join('. '),
      /waiting for reports from 1 server in .* whose tier it does not know, for example \[h9\]/,
    )
    await assert.rejects(
      ofTier('cold', operator),
      /still waiting for reports from 1 server, for example \[h9\]/,
    )
    const answer = await ofSegment('wiki', one.id, operator)
    assert.deepEqual(codesOf(answer), ['tooFewServers', 'serversUnknown'])
    assert.match(JSON.stringify(answer.servers), /"server":"h9","tier":"","state":"unknown"/)
    assert.doesNotMatch(JSON.stringify(await ofSegment('wiki', one.id, reader)), /h9/)
  })

  it('does not say that a tier has no servers before they have reported', async () => {
    const one = segment(1)
    await storeSegments(database, [one])
    await segments.refresh()
    await setRules({ cold: 2 })
    report('h1', [])
    isSettled = true
    shortages = shortagesIn({ tiersWithoutServers: { cold: { wiki: 2 } } })
    for (const tier of ['cold', undefined]) {
      awaited.push({ name: 'c1', tier })
      const { sentences } = await explanations.ofTier('cold', operator)
      assert.deepEqual(sentences, [
        tier === undefined
          ? 'The leader is waiting for reports from 1 server whose tier it does not know yet, for example [c1]'
          : 'The leader is waiting for reports from 1 server of tier [cold], for example [c1]',
      ])
      const answer = await explanations.ofSegment('wiki', one.id, operator)
      assert.deepEqual(codesOf(answer), ['serversUnknown'])
      assert.doesNotMatch(JSON.stringify(answer), /no servers/i)
      // The names of servers require READ on STATE.
      const shown = await explanations.ofSegment('wiki', one.id, callerWith('READ DATASOURCE'))
      assert.doesNotMatch(JSON.stringify(shown), /\bc1\b/)
      awaited.length = 0
    }
    const { sentences } = await explanations.ofTier('cold', operator)
    assert.deepEqual(sentences, ['Tier [cold] has no servers for 2 replicas'])
    assert.deepEqual(codesOf(await explanations.ofSegment('wiki', one.id, operator)), ['tierWithoutServers'])
    awaited.push({ name: 'c1', tier: 'cold' })
    assert.match((await explanations.ofTier('cold', operator)).sentences.join(), /waiting for reports/)
    await assert.rejects(explanations.ofTier('warm', operator), {
      code: 'notFound',
      message:
        /no segments that you may read require replicas in it\. The leader is still waiting for reports from 1 server/,
    })
    awaited.length = 0
  })

  it('says when a new leader marks an overshadowed segment as unused', async () => {
    const old = segment(1)
    const key = { ...old, version: 'v2' }
    await storeSegments(database, [old, { ...key, id: segmentId(key) }])
    await segments.refresh()
    report('h1', [old])
    const answerWith = async (config: object) => {
      await database.query(sql`DELETE FROM dynamic_configs`)
      await saveConfig(database, coordinatorConfigName, JSON.stringify(config), 0, audit, 0)
      return await explanations.ofSegment('wiki', old.id, reader)
    }
    const atOnce = await answerWith({})
    assert.match(atOnce.summary, /version \[v2\] and will be marked as unused once .* are served\./)
    assert.deepEqual(atOnce.next, [])
    const later = await answerWith({ millisToWaitBeforeDeleting: 3_600_000 })
    const at = formatInstant(Math.round(performance.timeOrigin + ledSinceMs + 3_600_000))
    assert.match(later.summary, new RegExp(`are served, but not before ${at}: a new leader first waits`))
    assert.deepEqual(
      later.next?.map((event) => [event.code, event.at]),
      [['markUnused', at]],
    )
    await database.query(sql`DELETE FROM dynamic_configs`)
  })

  it('says why an unused segment is unused', async () => {
    const dropRule = {
      kind: 'dropRule' as const,
      rule: '{"type":"dropForever"}',
      rulesId: 7,
      defaultRulesId: 3,
    }
    const causes: [cause: UnusedCause, expected: RegExp][] = [
      [
        { ...dropRule, isDefaultRule: false },
        /the drop rule \{"type":"dropForever"\} applied \(audit ID of the rules: 7\)/,
      ],
      [{ ...dropRule, isDefaultRule: true }, /applied \(audit ID of the default rules: 3\)/],
      // Segments that earlier versions marked do not have it.
      [
        { ...dropRule, isDefaultRule: null },
        /applied \(audit ID of the rules: 7, audit ID of the default rules: 3\)/,
      ],
      [{ kind: 'overshadowed', byVersion: 'v2' }, /segments of version \[v2\] replaced it/],
      [{ kind: 'request', identity: 'ann' }, /user \[ann\] marked it as unused/],
      [
        { kind: 'import' },
        /since 2026-01-01T00:00:00\.000Z: it was already unused in the cluster that it was imported from, which does not show why/,
      ],
      [{ kind: 'task', taskId: 'kill_1' }, /task \[kill_1\] marked it as unused/],
      [{ kind: 'task', taskId: scopedTaskId('chosen', 'wiki') }, /task \[chosen\] marked it as unused/],
    ]
    const list = causes.map((_, index) => segment(index))
    await storeSegments(database, list)
    await database.transaction(async (transaction) => {
      await markUnused(
        transaction,
        list.map(({ id }) => id),
        causes.map(([cause]) => cause),
        Date.UTC(2026, 0, 1),
      )
    })
    for (const [index, [cause, expected]] of causes.entries()) {
      const answer = (await explanations.ofSegment('wiki', list[index]!.id, operator)) as { summary: string }
      assert.match(answer.summary, expected)
      assert.match(answer.summary, /^The segment has been unused since 2026-01-01T00:00:00.000Z/)
      assert.deepEqual(codesOf(answer), [cause.kind])
    }
    assert.doesNotMatch(JSON.stringify(await explanations.ofSegment('wiki', list[4]!.id, reader)), /ann/)
  })

  it('says whether an unused segment can come back', async () => {
    const list = [segment(1), segment(2)]
    await storeSegments(database, list)
    const causes: UnusedCause[] = [
      { kind: 'overshadowed', byVersion: 'v2' },
      { kind: 'request', identity: 'ann' },
    ]
    await database.transaction(async (transaction) => {
      await markUnused(
        transaction,
        list.map(({ id }) => id),
        causes,
        0,
      )
    })
    const summaryOf = async (one: Segment) =>
      ((await explanations.ofSegment('wiki', one.id, operator)) as { summary: string }).summary
    const canReturn = /The segment can be marked as used until its data is deleted$/
    for (const one of list) assert.match(await summaryOf(one), canReturn)
    const newer = ['v2', 'v3'].map((version, index) => {
      const key = { ...list[index]!, version }
      return { ...key, id: segmentId(key) }
    })
    await storeSegments(database, newer)
    // Whatever the cause was at that time.
    for (const one of list)
      assert.match(
        await summaryOf(one),
        /It can be marked as used once the used segments that overshadow it are unused$/,
      )
    await database.transaction((transaction) =>
      markUnused(
        transaction,
        newer.map(({ id }) => id),
        { kind: 'request', identity: 'ann' },
        0,
      ),
    )
    for (const one of list) assert.match(await summaryOf(one), canReturn)
    await saveRules(database, 'wiki', JSON.stringify([{ type: 'dropForever' }]), audit, 0)
    rules.invalidate()
    for (const one of list)
      assert.match(
        await summaryOf(one),
        /If the segment is marked as used, the next run marks it as unused again, because it matches rule \[0\] \(dropForever\)$/,
      )
  })

  it('finds segments only in their own datasource', async () => {
    const one = segment(1)
    await storeSegments(database, [one])
    for (const [dataSource, id] of [
      ['koalas', one.id],
      ['wiki', 'unknown'],
    ] as const)
      await assert.rejects(explanations.ofSegment(dataSource, id, operator), {
        code: 'notFound',
        message: `Datasource [${dataSource}] has no segment with the ID [${id}]: expected an ID such as [${dataSource}_2026-01-01T00:00:00.000Z_2026-01-02T00:00:00.000Z_2026-01-03T00:00:00.000Z], which ends with [_1] or another partition number unless it is the first partition`,
      })
  })

  it('says whether a segment was deleted as far as that is known', async () => {
    const first = segment(5)
    // A task allocated the partition numbers in between, but did not publish them.
    const last = { ...first, partitionNum: 3, id: `${first.id}_3` }
    await storeSegments(database, [first, last])
    for (const { id } of [first, last]) await database.query(sql`DELETE FROM segments WHERE id = ${id}`)
    const cases: [id: string, expected: RegExp][] = [
      [last.id, /: a kill task deleted it\. It cannot be marked as used again, because its data is gone$/],
      ...[first.id, `${first.id}_1`].map((id): [string, RegExp] => [
        id,
        /: a kill task deleted it, or it never existed; partition \[3\] of the same interval and version was deleted$/,
      ]),
      ...[`${first.id}_4`, first.id.replace('_v1', '_v2'), segment(77).id].map((id): [string, RegExp] => [
        id,
        /: there is no record that it ever existed in this cluster$/,
      ]),
    ]
    for (const [id, expected] of cases)
      await assert.rejects(explanations.ofSegment('wiki', id, operator), expected)
    await saveRules(database, 'wiki', '[]', { ...audit, author: importAuthor }, 0)
    await assert.rejects(
      explanations.ofSegment('wiki', segment(77).id, operator),
      /existed in this cluster\. The cluster was imported, and an import reads unused segments only with --unused$/,
    )
    await database.query(sql`DELETE FROM audit`)
  })

  it('names the kill tasks that may have deleted a segment, and the rules that had dropped it', async () => {
    const [one, two] = [segment(15), segment(16)] as const
    const parts = [1, 2, 3].map((partitionNum) => ({ ...two, partitionNum, id: `${two.id}_${partitionNum}` }))
    const otherVersion = { ...two, version: 'v0', id: two.id.replace('_v1', '_v0') }
    const unattributed = segment(18)
    const all = [one, two, ...parts, otherVersion, unattributed]
    await storeSegments(database, all)
    const dropped = { kind: 'dropRule', rule: '{}', isDefaultRule: false, rulesId: 7, defaultRulesId: 3 }
    const ids = all.map(({ id }) => id)
    const causes = ids.map((id) => (id === one.id ? (dropped as UnusedCause) : ({ kind: 'import' } as const)))
    await markUnused(database, ids, causes, 0)
    const kill = async (id: string, ...killed: readonly { readonly id: string }[]) => {
      const payload = {}
      const task = {
        id,
        groupId: id,
        type: 'kill',
        dataSource: 'wiki',
        priority: 0,
        payload,
        submittedBy: 'x',
      }
      await saveTask(database, task)
      const erased = killed.map((segment) => segment.id)
      await database.transaction((transaction) => eraseUnused(transaction, erased, id))
      await database.query(sql`UPDATE tasks SET finished_at = to_timestamp(60) WHERE id = ${id}`)
    }
    const messageOf = async (id: string) =>
      await explanations.ofSegment('wiki', id, reader).then(
        () => '',
        ({ message }: Error) => message.replace(/^.*?\]: /, ''),
      )
    const gone = '. It cannot be marked as used again, because its data is gone'
    // An earlier version of svc deleted this segment, and did not record the task.
    await eraseUnused(database, [unattributed.id])
    assert.equal(await messageOf(unattributed.id), `a kill task deleted it${gone}`)
    await kill('kill_none')
    await kill('kill_other_version', otherVersion)
    await kill(scopedTaskId('mine', 'wiki'), one, parts[0]!)
    // Many later tasks, which deleted nothing.
    await database.query(sql`
      INSERT INTO tasks (id, group_id, type, datasource, priority, payload, created_at, submitted_by, state, progress)
      SELECT 'later_' || i, '', 'kill', 'wiki', 0, '{"interval":"1970-01-01/P1D"}', now(), '', 'SUCCESS',
        '{"erasedSegments":1}' FROM generate_series(1, 600) AS i`)
    const byTask = 'kill task [mine] deleted it at 1970-01-01T00:01:00.000Z'
    assert.equal(await messageOf(parts[0]!.id), `${byTask}${gone}`)
    assert.equal(
      await messageOf(one.id),
      `${byTask}${gone}. Drop rules had marked deleted segments of this interval as unused (audit ID of the rules: 7, audit ID of the default rules: 3)`,
    )
    await kill('kill_2', two)
    await kill('kill_3', parts[1]!)
    await kill('kill_4', parts[2]!)
    assert.match(
      await messageOf(parts[2]!.id),
      /^one of these kill tasks deleted it: \[kill_4\] at [^,]+, \[kill_3\] at [^,]+, \[kill_2\] at [^,]+, and 1 earlier one\. It cannot/,
    )
    await database.query(sql`DELETE FROM tasks`)
    assert.equal(await messageOf(parts[2]!.id), `a kill task deleted it${gone}`)
  })
})

describe('the explanation of an interval', () => {
  it('counts segments by state and lists those that are not loaded', async () => {
    const list = [1, 2, 3, 4].map((start) => segment(start))
    await storeSegments(database, [...list, segment(2, 'koalas')])
    await segments.refresh()
    await setRules({ hot: 1 })
    report('h1', list.slice(0, 2))
    const interval = { start: 2, end: 4 }
    const answer = await explanations.ofInterval('wiki', interval, operator, new AbortController().signal)
    assert.deepEqual(JSON.parse(JSON.stringify(answer)), {
      dataSource: 'wiki',
      interval: formatInterval(interval),
      segments: 2,
      summary: '2 used segments: 1 loaded, 1 unavailable',
      states: { loaded: 1, missing: 1 },
      explained: 2,
      notLoaded: [
        {
          segment: list[2]!.id,
          state: 'missing',
          summary:
            'The segment is not available for queries: [hot] has 0 of 1 replica. Tier [hot]: the next run assigns 1 replica',
          causes: [{ code: 'nextRun', tier: 'hot', text: 'Tier [hot]: the next run assigns 1 replica' }],
        },
      ],
      unused: [],
    })
  })

  it('counts unused segments by cause, each with an example', async () => {
    const list = [1, 2, 3, 4].map((start) => segment(start))
    await storeSegments(database, list)
    const rule = { kind: 'dropRule', rule: '{"type":"dropForever"}', rulesId: 7, defaultRulesId: 3 } as const
    await database.transaction(async (transaction) => {
      const causes = list.map(
        (_, index): UnusedCause =>
          index === 3 ? { kind: 'request', identity: 'ann' } : { ...rule, isDefaultRule: false },
      )
      await markUnused(
        transaction,
        list.map(({ id }) => id),
        causes,
        Date.UTC(2026, 0, 1),
      )
    })
    await segments.refresh()
    const interval = { start: 2, end: 5 }
    const { signal } = new AbortController()
    const answer = await explanations.ofInterval('wiki', interval, reader, signal)
    const { summary, unused } = answer as { summary: string; unused: object }
    assert.equal(summary, 'No used segments; 3 unused segments')
    const since = 'The segment has been unused since 2026-01-01T00:00:00.000Z'
    assert.deepEqual(unused, [
      {
        code: 'dropRule',
        segments: 2,
        example: {
          segment: list[1]!.id,
          text: `${since}: the drop rule {"type":"dropForever"} applied (audit ID of the rules: 7)`,
        },
      },
      {
        code: 'request',
        segments: 1,
        example: { segment: list[3]!.id, text: `${since}: a user marked it as unused` },
      },
    ])
  })
})
