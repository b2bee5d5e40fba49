import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { type Segment, segmentId } from '@svc/domain/segment'
import { formatInterval } from '@svc/domain/time'
import { coordinatorConfigName } from '@svc/shared/coordinator-dynamic-config'
import {
  ensureDefaultRules,
  markUnused,
  saveConfig,
  saveRules,
  scopedTaskId,
  sql,
  type UnusedCause,
} from '@svc/shared/postgres'
import type { Caller } from '@svc/shared/security'
import { ReportLog, ServedSegments } from '@svc/shared/segment-serving'
import { createTestContext, createTestStores, serverReport, storeSegments } from '@svc/shared/testing'
import { type Shortage, shortagesOf } from '../cluster-state/index.ts'
import { firstDefaultRules } from '../endpoints/rules.ts'
import { createSegmentInventory, followRules, ServerInventory } from '../inventory/index.ts'
import { createExplanations } from './index.ts'

const stores = await createTestStores({ after })
const { database } = stores
const context = await createTestContext({ after }, stores, 'coordinator')
const rules = followRules(database)
const awaited: { name: string; tier: string | undefined }[] = []
let shortages: readonly Shortage[] = []
const servers = new ServerInventory(60_000)
const segments = createSegmentInventory(database, servers.table)
const explanations = createExplanations({
  context,
  segments,
  servers,
  rules,
  reportedServers: { awaited: () => awaited },
  clusterState: {
    lastShortages: () => shortages,
    current: async () => ({
      known: true,
      settled: false,
      paused: false,
      reasons: [],
      scheduled: [],
      shortages: ['Server [h2] failed'],
    }),
  },
  loadMeter: { rateOf: () => undefined },
  loading: { untilNextRunMs: () => 3000, status: () => ({ runs: 0 }) },
})
const callerWith = (...granted: string[]) =>
  ({
    can: (action: string, type: string) => granted.includes(`${action} ${type}`),
    sees: () => granted.includes('READ DATASOURCE'),
  }) as unknown as Caller
const operator = callerWith('READ STATE', 'READ CONFIG', 'READ DATASOURCE')
// Reads servers, but no datasource.
const stateReader = callerWith('READ STATE')
const reader = callerWith()

before(() => rules.start())
beforeEach(async () => {
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
const codesOf = (answer: object) =>
  (answer as { causes: readonly { code: string }[] }).causes.map(({ code }) => code)

describe('the explanation of a segment', () => {
  it('names a tier without servers, no matter how many there are', async () => {
    const tiers = new Map(Array.from({ length: 30 }, (_, index) => [`t${index}`, 2]))
    shortages = shortagesOf({
      unplaced: () => [],
      tiersWithoutServers: () => tiers,
      tiersWithTooFewServers: () => new Map(),
    })
    assert.deepEqual((await explanations.ofTier('t29', operator)).sentences, [
      'Tier [t29] has no servers for 2 replicas',
    ])
    await assert.rejects(explanations.ofTier('t', operator), { code: 'notFound' })
    shortages = []
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
        'Server [h2] failed to load 1 segment (secret path: disk full) and will retry',
        'The next duty run starts in 3 s',
      ],
    })
    const { sentences } = await explanations.ofServer('h2', operator)
    assert.match(
      sentences.join('. '),
      /^Server \[\S+\] is a historical in tier \[hot\] and serves 0 segments: 0 B of 100 B/,
    )
    assert.match(
      sentences.join('. '),
      /Server \[h2\] failed to load 1 segment \(secret path: disk full\) and will retry/,
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
    ]) {
      assert.match(JSON.stringify(answer), /ailed to load 1 segment and will retry"/)
      assert.doesNotMatch(JSON.stringify(answer), /secret/)
    }
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
    assert.deepEqual(await sentencesOf(), [next])
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

  it('names decommissioning servers in the explanations of their tier and the cluster, and leaves out clones', async () => {
    for (const name of ['h1', 'h2', 'h3']) report(name, [])
    const config = { decommissioningNodes: ['h2'], cloneServers: { h3: 'gone' } }
    await saveConfig(database, coordinatorConfigName, JSON.stringify(config), 0, audit, 0)
    const { sentences } = await explanations.ofTier('hot', operator)
    assert.equal(sentences[0], 'Tier [hot] has 2 servers, 1 of them decommissioning: 0 B of 200 B used')
    assert.match(
      JSON.stringify(await explanations.ofCluster(operator)),
      /Server \[h2\] is decommissioning; 0 B of segments are left on it/,
    )
    const ofClone = (await explanations.ofServer('h3', operator)).sentences
    assert.match(ofClone.join(), /It is a clone of \[gone\], which is unavailable/)
    await database.query(sql`DELETE FROM dynamic_configs`)
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
    awaited.length = 0
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
    assert.match(
      await summaryOf(list[0]!),
      /can be marked as used once the segments of version \[v2\] are unused$/,
    )
    assert.match(await summaryOf(list[1]!), /The segment can be marked as used until its data is deleted$/)
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
      [last.id, /: a kill task deleted it$/],
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
