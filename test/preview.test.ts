// What a preview shows is what happens in real processes: rules are previewed, then set, and the servers load
// the replicas that the preview showed. One clock, which is moved forward manually, drives rules, versions, and
// audit entries.

import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { after, before, describe, test } from 'node:test'
import { waitUntil } from '@svc/shared/testing'
import { flights, flightsTask, runTask } from './support/flights.ts'
import { filesIn, servedByInventory, storedSegments } from './support/segments.ts'
import { runSvc } from './support/svc-command.ts'
import { startTestCluster } from './support/test-cluster.ts'

const { dataSource } = flights
const dayMs = 86_400_000
// The first of the ninety days of the data set.
const firstDay = Date.parse('2001-01-01T00:00:00Z')
const dateOf = (day: number) => new Date(firstDay + day * dayMs).toISOString()

const cluster = await startTestCluster({
  profile: 'plain',
  historicals: 'hot=2,_default_tier=1',
  // The duties run only on request.
  set: [
    'svc.simulation.clock.enabled=true',
    'coordinator.svc.coordinator.period=PT1H',
    'coordinator.svc.coordinator.kill.on=true',
  ],
})
after(() => cluster.end())
const { router, store, home } = cluster
const servers = { hot: ['historical-hot-1', 'historical-hot-2'], _default_tier: ['historical-1'] }

const rulesPath = `/svc/coordinator/v1/rules/${dataSource}`
const clockPath = '/svc/simulation/v1/clock'
const instants = { now: '' }
type StoredSegments = Awaited<ReturnType<typeof storedSegments>>
/** The segments before the clock was moved by thirty days: the first run after that may already delete some of them. */
const stored: { beforeMove: StoredSegments } = { beforeMove: [] }

interface Run {
  readonly now: string
  readonly groups: { name: string; duties: { duty: string; did: Record<string, number> | null }[] }[]
}
const run = async (): Promise<Run> => (await router.post('/svc/simulation/v1/run', {})).json as Run

/** The actions of the rule duty in one run. */
const rulesRun = ({ groups }: Run) =>
  groups.flatMap(({ duties }) => duties).find(({ duty }) => duty === 'runRules')?.did ?? null

/** The replicas of each segment by tier, as reported to the coordinator. */
async function copiesHeld(): Promise<Record<string, Record<string, number>>> {
  const held: Record<string, Record<string, number>> = {}
  for (const [tier, instances] of Object.entries(servers)) {
    for (const instance of instances) {
      for (const id of await servedByInventory(cluster, instance)) {
        held[id] ??= {}
        held[id][tier] = (held[id][tier] ?? 0) + 1
      }
    }
  }
  return held
}

interface Row {
  readonly interval: string
  readonly version: string
  readonly action: string
  readonly loaded: Record<string, number>
}
interface Preview {
  readonly now: string
  readonly segments: Row[]
  readonly summary: {
    effects: Record<'unqueryable' | 'unused', { segments: number }>
    datasources: Record<string, { markedUnused: { segments: number } }>
  }
  readonly warnings: { type: string }[]
}
const preview = async (rules: object[], query = '?full'): Promise<Preview> =>
  (await router.post(`/svc/coordinator/v1/rules/simulate${query}`, { rules: { [dataSource]: rules } }))
    .json as Preview

/** The replicas in a preview by segment id, without segments that have none. */
const previewedCopies = ({ segments }: Preview) =>
  Object.fromEntries(
    segments
      .filter(({ loaded }) => Object.keys(loaded).length > 0)
      .map(({ interval, version, loaded }) => [
        `${dataSource}_${interval.replace('/', '_')}_${version}`,
        loaded,
      ]),
  )

/** Runs the duties until the servers have these replicas and nothing is left to do. */
async function untilHeld(expected: Record<string, Record<string, number>>): Promise<void> {
  await waitUntil(
    'the servers have the replicas of the preview',
    async () => {
      const did = rulesRun(await run())
      const held = await copiesHeld()
      return { did, held }
    },
    ({ did, held }) => did === null && JSON.stringify(sorted(held)) === JSON.stringify(sorted(expected)),
  )
}
interface ClusterState {
  readonly known: boolean
  readonly settled: boolean
  readonly shortages: readonly string[]
}
const clusterStatePath = '/svc/coordinator/v1/clusterState'

/** Runs the duties until a run changes nothing. */
const untilSettled = (): Promise<ClusterState> =>
  waitUntil(
    'the cluster is settled',
    async () => {
      await run()
      return await router.get<ClusterState>(clusterStatePath)
    },
    ({ settled }) => settled,
  )

const sorted = (copies: Record<string, Record<string, number>>) =>
  Object.entries(copies)
    .map(([id, tiers]) => [id, Object.entries(tiers).sort()])
    .sort()

before(async () => {
  const present = await router.get<{ now: string; rate: number }>(clockPath)
  assert.equal(present.rate, 1)
  // The cluster's time is far from the machine's, and stands still until it is moved.
  instants.now = '2100-01-01T00:00:00.000Z'
  await router.post(clockPath, { now: instants.now, rate: 0 })
  await runTask(router, flightsTask())
})

describe('the clock', () => {
  test('is the same everywhere', async () => {
    for (const client of [router, cluster.at('coordinator')])
      assert.deepEqual(await client.get(clockPath), { now: instants.now, rate: 0 })
    const text = await runSvc('clock', '--home', home.root)
    assert.deepEqual([text.status, text.stdout], [0, `${instants.now} (stopped)\n`])
  })

  test('determines segment versions at the overlord', async () => {
    const segments = await storedSegments(store, dataSource)
    assert.equal(segments.length, flights.days)
    for (const { id } of segments) assert.match(id, /_2100-01-01T00:00:00\.000Z$/)
  })

  test('determines the times of audit entries and of previews', async () => {
    await router.post(rulesPath, [{ type: 'loadForever', tieredReplicants: { hot: 1 } }])
    const [entry] = await router.get<{ auditTime: string }[]>(`${rulesPath}/history?count=1`)
    assert.equal(entry!.auditTime, instants.now)
    assert.equal((await preview([])).now, instants.now)
  })

  test('cannot be set back', async () => {
    const answer = await router.send({ method: 'POST', path: clockPath, json: { now: '2099-12-31' } })
    assert.equal(answer.status, 400, answer.text)
    assert.deepEqual(await router.get(clockPath), { now: instants.now, rate: 0 })
  })
})

describe('a preview matches what happens', () => {
  const cases: { name: string; rules: object[] }[] = [
    { name: 'one replica in one tier', rules: [{ type: 'loadForever', tieredReplicants: { hot: 1 } }] },
    {
      name: 'more replicas than servers, and a tier without servers',
      rules: [{ type: 'loadForever', tieredReplicants: { hot: 3, _default_tier: 1, nosuchtier: 1 } }],
    },
    {
      name: 'one part in another tier, one in none, and the rest in all',
      rules: [
        {
          type: 'loadByInterval',
          interval: `${dateOf(0)}/${dateOf(30)}`,
          tieredReplicants: { _default_tier: 1 },
        },
        {
          type: 'loadByInterval',
          interval: `${dateOf(30)}/${dateOf(40)}`,
          tieredReplicants: {},
          useDefaultTierForNull: false,
        },
        { type: 'broadcastForever' },
      ],
    },
    {
      name: 'some days dropped forever',
      rules: [
        { type: 'dropByInterval', interval: `${dateOf(80)}/${dateOf(90)}` },
        { type: 'loadForever', tieredReplicants: { hot: 2 } },
      ],
    },
  ]
  for (const { name, rules } of cases) {
    test(name, async () => {
      const previewed = await preview(rules)
      const posted = await router.post(rulesPath, rules)
      const { warnings } = JSON.parse(posted.headers['x-svc-warnings'] as string)
      assert.deepEqual(warnings, previewed.warnings)
      const changing = await router.get<ClusterState>(clusterStatePath)
      assert.deepEqual([changing.known, changing.settled], [true, false])
      await untilHeld(previewedCopies(previewed))
      const { shortages } = await untilSettled()
      assert.deepEqual(
        shortages,
        name.includes('tier without servers')
          ? [
              'Tier [nosuchtier] has no servers for 90 replicas',
              'Tier [hot] has too few servers for 90 replicas: a server loads at most one replica of a segment',
            ]
          : [],
      )
      const { unqueryable, unused: losesUse } = previewed.summary.effects
      const held = Object.keys(await copiesHeld()).length
      assert.equal(unqueryable.segments, previewed.segments.length - held)
      const unused = (await storedSegments(store, dataSource)).filter(({ used }) => !used)
      const dropped = previewed.segments.filter(({ action }) => action === 'drop')
      assert.equal(unused.length, dropped.length)
      assert.equal(losesUse.segments, dropped.length)
      const after = await preview(rules)
      assert.equal(after.summary.datasources[dataSource]!.markedUnused.segments, 0)
    })
  }
})

describe('moving the clock forward', () => {
  test('drives rules: a run does what was previewed for that time', async () => {
    const daysAgo = Math.round((Date.parse(instants.now) - firstDay) / dayMs)
    // Ten days are older than that now; in thirty days it will be forty.
    const rules = [
      { type: 'dropBeforeByPeriod', period: `P${daysAgo - 10}D` },
      { type: 'loadForever', tieredReplicants: { hot: 1 } },
    ]
    const unusedOf = ({ summary }: Preview) => summary.datasources[dataSource]!.markedUnused.segments
    assert.equal(unusedOf(await preview(rules, '')), 10)
    const then = (
      await router.post('/svc/coordinator/v1/rules/simulate', {
        rules: { [dataSource]: rules },
        horizon: 'P30D',
      })
    ).json as Preview & {
      summary: {
        steps: { now: string; datasources: Record<string, { markedUnused: { segments: number } }> }[]
      }
    }
    const later = then.summary.steps.reduce(
      (sum, { datasources }) => sum + datasources[dataSource]!.markedUnused.segments,
      0,
    )
    assert.equal(later, 30)

    await router.post(rulesPath, rules)
    assert.equal(rulesRun(await run())!.markedUnused, 10)
    assert.equal(rulesRun(await run())?.markedUnused ?? 0, 0)
    stored.beforeMove = await storedSegments(store, dataSource)
    const moved = await runSvc('clock', 'advance', 'P30D', '--home', home.root, '--json')
    instants.now = then.summary.steps.at(-1)!.now
    assert.deepEqual([moved.status, JSON.parse(moved.stdout)], [0, { now: instants.now, rate: 0 }])
    const done = await run()
    assert.equal(done.now, instants.now)
    assert.equal(rulesRun(done)!.markedUnused, later)
  })
})

describe('segments that have been unused for a long time', () => {
  test('are deleted after the buffer period, from the metadata store and deep storage', async () => {
    const before = stored.beforeMove
    const kept = new Set(before.filter(({ used }) => used).map(({ id }) => id))
    // Twenty became unused before the clock was moved, and thirty after that.
    assert.equal(kept.size, before.length - 20)
    await run()
    const left = await waitUntil(
      'the kill task has deleted the due segments',
      () => storedSegments(store, dataSource),
      (segments) => segments.length <= kept.size,
    )
    assert.deepEqual(new Set(left.map(({ id }) => id)), kept)
    assert.equal(left.filter(({ used }) => !used).length, 30)
    const expected = left.map(({ path: file }) => file).sort()
    await waitUntil(
      'deep storage has only the files of the other segments',
      () => Object.keys(filesIn(home.deepStorage)),
      (files) => JSON.stringify(files.sort()) === JSON.stringify(expected),
    )
  })
})

describe('./svc rules', () => {
  const file = path.join(home.root, 'rules.json')
  const rules = [{ type: 'loadForever', tieredReplicants: { hot: 3 } }, { type: 'dropForever' }]
  const svcRules = (...args: string[]) => runSvc('rules', ...args, '--home', home.root)

  test('preview shows what a file would do and changes nothing', async () => {
    writeFileSync(file, JSON.stringify(rules))
    const stored = await router.get(rulesPath)
    const shown = await svcRules('preview', file, '--datasource', dataSource, '--horizon', 'P30D')
    assert.equal(shown.status, 0, shown.stderr)
    assert.match(shown.stdout, /^datasource +tier +replicas before +after/m)
    assert.match(shown.stdout, /^flights +hot +\d+ \(.*B\) +\d+ \(.*B\)/m)
    assert.match(shown.stdout, /^hot before +[.▁▂▃▄▅▆▇█]+$/m, 'the picture of data is missing')
    assert.match(shown.stdout, /^rule +0+$/m, 'the rules of the picture are missing')
    assert.match(shown.stderr, /^svc: Warning: .*rule \[1\] \[dropForever\] is never reached/m)
    assert.ok(!shown.stdout.includes('\u001b'), 'the output has escape sequences without a terminal')
    const json = await svcRules('preview', file, '--datasource', dataSource, '--json', '--full')
    const answer = JSON.parse(json.stdout) as Preview
    assert.ok(answer.segments.length > 0)
    assert.deepEqual(await router.get(rulesPath), stored)
  })

  test('diff shows what would change, set changes it, and then diff shows nothing', async () => {
    const differs = await svcRules('diff', file, '--datasource', dataSource)
    assert.equal(differs.status, 5, differs.stderr)
    assert.match(differs.stdout, /^- \{.*dropBeforeByPeriod/m)
    assert.match(differs.stdout, /^\+ \{"type":"dropForever"\}$/m)
    const set = await svcRules('set', file, '--datasource', dataSource)
    assert.equal(set.status, 0, set.stderr)
    assert.match(set.stderr, /Warning: .*never reached/)
    const same = await svcRules('diff', file, '--datasource', dataSource)
    assert.equal(same.status, 0, same.stderr)
    const got = await svcRules('get', '--datasource', dataSource)
    assert.match(got.stdout, /^ +now\|$/m)
    const history = await svcRules('history', '--datasource', dataSource, '--count', '1')
    assert.match(history.stdout, new RegExp(instants.now.replaceAll('.', '\\.')))
  })

  test('invalid input exits with status 2, wherever it is noticed', async () => {
    writeFileSync(file, '{"rules":[],"horizon":"P10000Y"}')
    const refused = await svcRules('preview', file)
    assert.equal(refused.status, 2)
    assert.match(refused.stderr, /Invalid value \[P10000Y\] for \[horizon\]/)
    writeFileSync(file, '5')
    assert.equal((await svcRules('preview', file)).status, 2)
    writeFileSync(file, JSON.stringify(rules))
    const unknown = await svcRules('preview', file, '--datasource', 'fligths')
    assert.deepEqual([unknown.status, unknown.stdout], [2, ''])
    assert.match(unknown.stderr, /^svc: Unknown datasource \[fligths\]: .* Similar names: \[flights\]/)
  })
})
