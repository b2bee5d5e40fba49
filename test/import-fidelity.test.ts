// An imported cluster starts in the state of its source: servers have the same segments, supervisors are suspended,
// overshadowed segments wait, and users have their roles. The import says what differs, and refuses a login that sees
// only part of the cluster. The source is a cluster of svc that answers as Druid does.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { after, before, describe, test } from 'node:test'
import { type Cluster, pickPortOffset, startCluster } from '@svc/cli/cluster'
import { createHttpClient, type HttpClient } from '@svc/shared/testing'
import { runSvc } from './support/svc-command.ts'
import { newTestFolder, removeTestFolder } from './support/test-folder.ts'

const folder = newTestFolder()
const at = (name: string) => path.join(folder, name)

const firstDay = Date.parse('2026-01-01T00:00:00Z')
const dateOf = (day: number) => new Date(firstDay + day * 86_400_000).toISOString()
const versions = ['2026-02-01T00:00:00.000Z', '2026-03-01T00:00:00.000Z'] as const

const row = (dataSource: string, day: number, version: string) => ({
  dataSource,
  interval: `${dateOf(day)}/${dateOf(day + 1)}`,
  version,
  dimensions: 'channel',
  metrics: 'added',
  shardSpec: { type: 'numbered', partitionNum: 0, partitions: 1 },
  size: 1000 + day,
  totalRows: 10,
})
const idOf = ({ dataSource, interval, version }: ReturnType<typeof row>) =>
  `${dataSource}_${interval.replace('/', '_')}_${version}`
const days = (count: number) => [...Array(count).keys()]
const wiki = days(20).map((day) => row('wiki', day, versions[0]))
/** These hide the first three days. */
const newer = days(3).map((day) => row('wiki', day, versions[1]))
const koalas = days(6).map((day) => row('koalas', day, versions[0]))
const unused = days(2).map((day) => row('koalas', day + 10, versions[0]))

/** A placement that satisfies the rules, but not the one that svc would choose: one server has nearly everything. */
const placement: Readonly<Record<string, readonly string[]>> = {
  '10.0.0.1:8083': [...wiki, ...newer].map(idOf),
  '10.0.0.2:8083': [],
  '10.0.0.3:8083': koalas.map(idOf),
}
const permission = (type: string, name: string, action: string) => ({ resource: { type, name }, action })
const security = {
  authenticators: { db: ['admin', 'alice', 'limited'] },
  authorizers: {
    perms: {
      roles: {
        admin: [permission('CONFIG', '.*', 'WRITE')],
        writers: [permission('DATASOURCE', 'koala.*', 'WRITE')],
        'wiki-readers': [
          permission('DATASOURCE', 'wiki', 'READ'),
          permission('STATE', '.*', 'READ'),
          permission('CONFIG', '.*', 'READ'),
        ],
      },
      users: { admin: ['admin'], alice: ['writers'], limited: ['wiki-readers'] },
      groupMappings: { ops: { groupPattern: 'CN=ops,DC=example', roles: ['writers'] } },
    },
  },
}

/** Marked as unused a moment ago, so the source lists all of it as used and as unused. */
const gone = days(2).map((day) => row('gone', day, versions[0]))

function writeInventory(): void {
  mkdirSync(at('inventory'))
  const file = (name: string, content: unknown) =>
    writeFileSync(path.join(at('inventory'), name), `${JSON.stringify(content)}\n`)
  const lines = (name: string, rows: readonly object[]) =>
    writeFileSync(path.join(at('inventory'), name), rows.map((one) => `${JSON.stringify(one)}\n`).join(''))
  const server = { type: 'historical', priority: 0, maxSize: 1_000_000 }
  file('servers.json', [
    { ...server, host: '10.0.0.1:8083', tier: 'hot' },
    { ...server, host: '10.0.0.2:8083', tier: 'hot' },
    { ...server, host: '10.0.0.3:8083', tier: '_default_tier' },
  ])
  file('rules.json', {
    _default: [{ type: 'loadForever', tieredReplicants: { _default_tier: 1 } }],
    wiki: [{ type: 'loadForever', tieredReplicants: { hot: 1 } }],
  })
  file('config.json', { maxSegmentsToMove: 0, smartSegmentLoading: false })
  file('compaction.json', {
    compactionConfigs: [{ dataSource: 'wiki' }, { dataSource: 'koalas', skipOffsetFromLatest: 'P10000D' }],
    maxCompactionTaskSlots: 0,
    useSupervisors: true,
    engine: 'native',
  })
  file('supervisors.json', [
    { id: 'autocompact__wiki', type: 'autocompact', suspended: true },
    { id: 'autocompact__koalas', type: 'autocompact', suspended: false },
    { id: 'clicks', type: 'kafka', suspended: false },
  ])
  file('security.json', security)
  lines('segments.jsonl', [...wiki, ...newer, ...koalas, ...gone])
  lines(
    'placement.jsonl',
    Object.entries(placement).map(([name, ids]) => ({ server: name, segments: ids })),
  )
  lines(
    'unused-segments.jsonl',
    [...unused, ...gone].map((dataSegment) => ({ dataSegment, usedStatusLastUpdatedDate: dateOf(30) })),
  )
}

interface Report {
  readonly partialView: readonly string[]
  readonly read: Readonly<Record<string, unknown>>
  readonly differences: readonly { readonly part: string; readonly difference: string }[]
  readonly unseen: readonly { readonly part: string; readonly reason: string }[]
}

async function reportOf(home: string): Promise<Report> {
  const { status, stdout, stderr } = await runSvc('import-report', '--json', '--home', at(home))
  assert.equal(status, 0, stderr)
  assert.deepEqual(
    JSON.parse(stdout),
    JSON.parse(readFileSync(path.join(at(home), 'import-report.json'), 'utf8')),
  )
  return JSON.parse(stdout) as Report
}

async function start(home: string): Promise<{ cluster: Cluster; router: HttpClient }> {
  const cluster = await startCluster({
    home: at(home),
    portOffset: await pickPortOffset(),
    profile: 'secure',
    set: ['coordinator.svc.coordinator.period=PT0.5S', 'svc.api.aliases=["druid"]'],
  })
  const credentials = `admin:${cluster.adminPassword}`
  return { cluster, router: createHttpClient(cluster.routerUrl, { trusted: cluster.trusted, credentials }) }
}

/** A relay without the paths of svc, like the router of a Druid cluster. */
async function startDruidRelay(cluster: Cluster): Promise<{ url: string; end: () => void }> {
  const client = createHttpClient(cluster.routerUrl, { trusted: cluster.trusted })
  const relay = createServer(async (request, response) => {
    const { url = '/' } = request
    const { authorization = '' } = request.headers
    const answer = /^\/(druid|proxy\/coordinator\/druid)/.test(url)
      ? await client.send({ path: url, headers: { authorization } })
      : { status: 404, text: '{}' }
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(answer.text)
  })
  relay.listen(0, '127.0.0.1')
  await once(relay, 'listening')
  return {
    url: `http://127.0.0.1:${(relay.address() as AddressInfo).port}`,
    end: () => {
      relay.closeAllConnections()
      relay.close()
      client.close()
    },
  }
}

const placementOf = async (router: HttpClient): Promise<Record<string, string[]>> =>
  Object.fromEntries(
    await Promise.all(
      Object.keys(placement).map(async (server) => {
        const ids = await router.get<string[]>(
          `/druid/coordinator/v1/servers/${encodeURIComponent(server)}/segments`,
        )
        return [server, ids.sort()] as const
      }),
    ),
  )

/** The state that an import carries over, as the cluster shows it. */
async function stateOf(router: HttpClient) {
  const perms = '/proxy/coordinator/druid-ext/basic-security/authorization/db/MyBasicMetadataAuthorizer'
  const supervisors = await router.get<{ id: string; suspended: boolean }[]>(
    '/druid/indexer/v1/supervisor?full',
  )
  const listed = await router.get<{ identifier: string; overshadowed: boolean }[]>(
    '/druid/coordinator/v1/metadata/segments?includeOvershadowedStatus',
  )
  const unusedRows = await router.get<
    { dataSegment: { identifier: string }; usedStatusLastUpdatedDate: string }[]
  >('/druid/coordinator/v1/metadata/datasources/koalas/unusedSegments')
  return {
    placement: await placementOf(router),
    suspended: supervisors.filter(({ suspended }) => suspended).map(({ id }) => id),
    overshadowed: listed.filter(({ overshadowed }) => overshadowed).map(({ identifier }) => identifier),
    used: listed.length,
    unused: unusedRows.map(({ dataSegment, usedStatusLastUpdatedDate }) => [
      dataSegment.identifier,
      usedStatusLastUpdatedDate,
    ]),
    users: await router.get(`${perms}/users/alice?full`),
    mapping: await router.get(`${perms}/groupMappings/ops`),
    slots: (
      await router.get<{ maxCompactionTaskSlots: number }>('/druid/indexer/v1/compaction/config/cluster')
    ).maxCompactionTaskSlots,
  }
}

const changedRules = at('changed-rules.json')

async function previewOf(home: string): Promise<unknown> {
  const preview = ['rules', 'preview', changedRules, '--datasource', 'wiki', '--now', '2026-02-01']
  const { status, stdout, stderr } = await runSvc(...preview, '--json', '--home', at(home))
  assert.equal(status, 0, stderr)
  return (JSON.parse(stdout) as { summary: unknown }).summary
}

describe('an import from a folder that was exported completely', () => {
  let source: Awaited<ReturnType<typeof start>>
  let relay: Awaited<ReturnType<typeof startDruidRelay>>
  before(async () => {
    writeInventory()
    writeFileSync(
      changedRules,
      JSON.stringify([
        { type: 'dropByInterval', interval: `${dateOf(0)}/${dateOf(5)}` },
        { type: 'loadForever', tieredReplicants: { hot: 2 } },
      ]),
    )
    const args = ['--from', at('inventory'), '--unused', '--home', at('source')]
    const { status, stdout, stderr } = await runSvc('import', ...args)
    assert.equal(status, 0, stderr)
    assert.match(stdout, /^Fidelity report for the import from /)
    source = await start('source')
    relay = await startDruidRelay(source.cluster)
  })
  after(async () => {
    relay?.end()
    source?.router.close()
    await source?.cluster.stop()
    removeTestFolder(folder)
  })

  test('reports what was read, and what differs', async () => {
    const { partialView, read, differences, unseen } = await reportOf('source')
    assert.deepEqual(partialView, [])
    assert.partialDeepStrictEqual(read, {
      segments: 29,
      unusedSegments: 4,
      datasources: 2,
      servers: 3,
      replicas: 29,
      suspendedSupervisors: 1,
      users: 2,
      roles: 2,
      groupMappings: 1,
    })
    const texts = differences.map(({ part, difference }) => `${part}: ${difference}`)
    assert.ok(texts.includes('supervisors: [clicks] left out'))
    assert.ok(texts.includes('segments: 2 segments of [gone] imported as unused'), texts.join('\n'))
    assert.ok(texts.some((text) => text.startsWith('users: 2 users cannot log in until a password is set')))
    assert.ok(texts.some((text) => text.startsWith('users and roles: the rehearsal has its own [admin]')))
    assert.deepEqual(
      unseen.map(({ part }) => part),
      [
        'the segment counts that the source reports',
        'lookups, tasks, load queues, audit entries, and server properties',
      ],
    )
  })

  test('starts with the segments, suspended supervisors, and users of its source', async () => {
    assert.deepEqual(await stateOf(source.router), {
      placement: Object.fromEntries(Object.entries(placement).map(([name, ids]) => [name, [...ids].sort()])),
      suspended: ['autocompact__wiki'],
      overshadowed: wiki.slice(0, 3).map(idOf),
      used: 29,
      unused: unused.map((one) => [idOf(one), dateOf(30)]),
      users: {
        name: 'alice',
        roles: [
          {
            name: 'writers',
            permissions: [
              {
                resourceAction: permission('DATASOURCE', 'koala.*', 'WRITE'),
                resourceNamePattern: 'koala.*',
              },
            ],
          },
        ],
      },
      mapping: { name: 'ops', groupPattern: 'CN=ops,DC=example', roles: ['writers'] },
      slots: 0,
    })
    // The overshadowed segments wait for 15 minutes, in which nothing else changes.
    const wait = await runSvc('wait', 'settled', '--timeout', '60', '--home', at('source'))
    assert.equal(wait.status, 0, wait.stderr)
    assert.match(wait.stderr, /^svc: Notice: 3 overshadowed segments will be marked as unused at 20\S+Z$/m)
    const login = await source.router.send({ path: '/status', credentials: 'alice:alice-password' })
    assert.equal(login.status, 401)
  })

  test('is imported again through the paths of Druid, with the same state and the same preview', async () => {
    writeFileSync(at('admin-password'), `${source.cluster.adminPassword}`)
    const login = ['--user', 'admin', '--password-file', at('admin-password')]
    const args = ['--from', relay.url, ...login, '--unused', '--home', at('copy')]
    const { status, stderr } = await runSvc('import', ...args)
    assert.equal(status, 0, stderr)
    const { partialView, read, unseen } = await reportOf('copy')
    assert.deepEqual(partialView, [])
    assert.equal(unseen.length, 1)
    assert.equal(read.overshadowedSegments, 3)
    const before = { state: await stateOf(source.router), preview: await previewOf('source') }
    const copy = await start('copy')
    try {
      assert.deepEqual(await stateOf(copy.router), before.state)
      assert.deepEqual(await previewOf('copy'), before.preview)
    } finally {
      copy.router.close()
      await copy.cluster.stop()
    }
    const again = await start('copy')
    try {
      assert.deepEqual(await placementOf(again.router), before.state.placement, 'after a restart')
    } finally {
      again.router.close()
      await again.cluster.stop()
    }
  })

  test('is complete if the source still counts segments that it has just marked as unused', async () => {
    cpSync(at('inventory'), at('inventory-with-counts'), { recursive: true })
    const counts = {
      datasourcesWithUsedSegments: ['gone', 'koalas', 'wiki'],
      servedSegments: { koalas: koalas.length, wiki: wiki.length + newer.length },
      usedBytes: {},
    }
    writeFileSync(path.join(at('inventory-with-counts'), 'counts.json'), JSON.stringify(counts))
    const args = ['--from', at('inventory-with-counts'), '--unused', '--home', at('counted')]
    const { status, stderr } = await runSvc('import', ...args)
    assert.equal(status, 0, stderr)
    assert.deepEqual((await reportOf('counted')).partialView, [])
  })

  test('is refused for a login that sees only part of the cluster, unless that is wanted', async () => {
    const users =
      '/proxy/coordinator/druid-ext/basic-security/authentication/db/MyBasicMetadataAuthenticator/users'
    await source.router.post(`${users}/limited/credentials`, { password: 'limited-password' })
    const args = ['--from', relay.url, '--user', 'limited:limited-password', '--home', at('part')]
    const refused = await runSvc('import', ...args)
    assert.equal(refused.status, 4, refused.stderr)
    assert.match(refused.stderr, /This login sees only part of the cluster at .*, so nothing was created\./)
    assert.equal(existsSync(at('part')), false)

    for (const command of [['up'], ['up', '--detach'], ['down'], ['tiers']]) {
      const up = await runSvc(...command, '--home', at('part'))
      assert.equal(up.status, 1)
      assert.match(
        up.stderr,
        /^svc: There is no cluster in \[.*part\], because the last import into it failed\. Import again, or /,
      )
      assert.match(up.stderr, /This login sees only part of the cluster/)
      assert.equal(existsSync(at('part')), false)
    }
    const partial = await runSvc('import', ...args, '--partial')
    assert.equal(partial.status, 0, partial.stderr)
    assert.match(partial.stdout, /^This login sees only part of the cluster:$/m)
    const { partialView, unseen } = await reportOf('part')
    assert.ok(unseen.some(({ part }) => part === 'datasources that this user has no permission to read'))
    assert.match(partialView.join('\n'), /Servers use .* more space than their listed segments need/)
    assert.match(unseen.map(({ part }) => part).join('\n'), /^suspended supervisors$/m)
  })

  test('leaves a record of its failure that ./svc reset deletes', async () => {
    const args = ['--from', 'http://127.0.0.1:1', '--home', at('never')]
    assert.equal((await runSvc('import', ...args)).status, 3)
    const { status, stdout } = await runSvc('reset', '--home', at('never'))
    assert.equal(status, 0)
    assert.match(stdout, /Deleted the record of a failed import/)
    const { stderr } = await runSvc('reset', '--home', at('never'))
    assert.match(stderr, /There is no cluster in/)
  })

  test('keeps 0 compaction slots while other fields change, but does not accept a new 0', async () => {
    const cluster = '/druid/indexer/v1/compaction/config/cluster'
    const stored = async () => {
      const { maxCompactionTaskSlots, compactionTaskSlotRatio, useSupervisors } =
        await source.router.get<Record<string, unknown>>(cluster)
      return [maxCompactionTaskSlots, compactionTaskSlotRatio, useSupervisors]
    }
    const svc = async (...args: string[]) => {
      const { status, stdout, stderr } = await runSvc(...args, '--home', at('source'))
      assert.equal(status, 0, stderr + stdout)
    }
    await svc('pull', at('state'))
    const file = path.join(at('state'), 'compaction.yaml')
    const yaml = readFileSync(file, 'utf8')
    assert.match(yaml, /maxCompactionTaskSlots: 0/)
    writeFileSync(file, yaml.replace(/compactionTaskSlotRatio: .*/, 'compactionTaskSlotRatio: 0.4'))
    await svc('apply', at('state'), '--yes')
    assert.deepEqual(await stored(), [0, 0.4, true])
    writeFileSync(at('ratio.json'), '{"compactionTaskSlotRatio":0.3}')
    await svc('compaction', 'set', at('ratio.json'))
    assert.deepEqual(await stored(), [0, 0.3, true])
    await source.router.post('/druid/coordinator/v1/config/compaction/taskslots?ratio=0.2&max=0', {})
    assert.deepEqual(await stored(), [0, 0.2, true])

    writeFileSync(at('slots.json'), '{"maxCompactionTaskSlots":3}')
    await svc('compaction', 'set', at('slots.json'))
    const again = await runSvc('plan', at('state'), '--home', at('source'))
    assert.equal(again.status, 2, again.stderr)
    assert.match(again.stderr, /Invalid value \[0\] for \[compaction\.cluster\.maxCompactionTaskSlots\]/)
    const json = { maxCompactionTaskSlots: 0, useSupervisors: true }
    assert.equal((await source.router.send({ method: 'POST', path: cluster, json })).status, 400)
    assert.deepEqual(await stored(), [3, 0.2, true])
  })
})
