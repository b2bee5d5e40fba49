import assert from 'node:assert/strict'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, describe, test } from 'node:test'
import type { Failure } from '@svc/domain/failure'
import { canonicalJson } from '@svc/domain/json'
import { readRulesPolicy } from '@svc/domain/rules-policy'
import { commentOf, planText } from '@svc/domain/saved-plan'
import fc from 'fast-check'
import { isNothing, meaningOf, type Plan } from '../declared-state/index.ts'
import { readLiveState } from '../live-state/index.ts'
import type { AnsweredPreview, PreviewRules } from '../preview/index.ts'
import { type ClusterConfiguration, type ConfiguredCluster, configuredCluster } from '../testing/index.ts'
import {
  applySteps,
  compareFiles,
  findAppliedPlan,
  interruptedNotices,
  makePlan,
  noteCompleted,
  noteFinished,
  noteStarted,
  noteUnfinished,
  planReversal,
  readDeclaredFiles,
  recordPlan,
  restoreSegments,
  resumedPlan,
  reversalOf,
  startedPlan,
  unfinishedIn,
  unfinishedWork,
  violationsOf,
} from './index.ts'

const root = mkdtempSync(path.join(tmpdir(), 'svc-revert-'))
after(() => rmSync(root, { recursive: true, force: true }))
const now = new Date('2026-01-01')

const previews: object[] = []
const preview: PreviewRules = async (body) => {
  previews.push(body)
  const none = { segments: 0, bytes: 0 }
  const summary = { used: none, effects: { unused: none }, datasources: {}, tiers: {} }
  return { now: now.toISOString(), known: true, summary, warnings: [] } as unknown as AnsweredPreview
}

/** Plans and applies a text. */
async function applyText(cluster: ConfiguredCluster, text: string): Promise<Plan> {
  const file = path.join(mkdtempSync(path.join(root, 'state-')), 'state.yaml')
  writeFileSync(file, text)
  const compared = await compareFiles(cluster, readDeclaredFiles(file), { parts: [], create: true })
  const made = await makePlan(cluster, compared, preview, now)
  await apply(cluster, made)
  return made.plan
}

async function apply(
  cluster: ConfiguredCluster,
  { plan, steps }: Awaited<ReturnType<typeof planReversal>>,
): Promise<void> {
  const headers = { 'X-Svc-Comment': `why ${commentOf(plan.id)}` }
  await applySteps(
    { client: cluster, headers, passwordOf: () => undefined },
    { steps, rulesChanged: false },
    {
      signal: new AbortController().signal,
      onApplied: () => undefined,
      onOverwritten: () => undefined,
      untilLoaded: async () => undefined,
    },
  )
}

async function revert(cluster: ConfiguredCluster, plan: Plan): Promise<readonly string[]> {
  const made = await planReversal(cluster, plan, preview, now)
  await apply(cluster, made)
  return made.warnings
}

const stateOf = async (cluster: ConfiguredCluster): Promise<string> =>
  canonicalJson(
    [...(await readLiveState(cluster)).sections.values()].map(({ kind, path: at, entries }) => [
      at,
      [...entries]
        .filter(([, value]) => !isNothing(kind, value))
        .map(([name, value]) => [name, meaningOf(kind, value, name)])
        .sort(),
    ]),
  )

const rule = fc.constantFrom({ type: 'loadForever' }, { type: 'dropForever' })
const list = fc.array(rule, { minLength: 1, maxLength: 2 })
const configuration: fc.Arbitrary<Partial<ClusterConfiguration>> = fc.record({
  rules: fc
    .dictionary(fc.constantFrom('a', 'b', 'c'), list, { noNullPrototype: true })
    .map((lists) => ({ ...lists, _default: [{ type: 'loadForever' }] })),
  coordinator: fc.record({ maxSegmentsToMove: fc.nat({ max: 5 }) }),
  compaction: fc
    .dictionary(
      fc.constantFrom('a', 'b'),
      fc.record({ skipOffsetFromLatest: fc.constantFrom('P2D', 'P3D') }),
      {
        noNullPrototype: true,
      },
    )
    .map((all) =>
      Object.fromEntries(Object.entries(all).map(([key, one]) => [key, { dataSource: key, ...one }])),
    ),
  roles: fc.constant({ x: [], y: [] }),
  users: fc.dictionary(fc.constantFrom('u', 'v'), fc.subarray(['x', 'y']), { noNullPrototype: true }),
})

const textOf = ({ rules, coordinator, compaction, users }: Partial<ClusterConfiguration>): string =>
  JSON.stringify({
    rules,
    coordinator,
    compaction: { datasources: compaction },
    authorizers: { basic: { users } },
  })

describe('a reverted plan', () => {
  test('leaves the configuration as it was before, and reverting it again changes nothing', async () => {
    await fc.assert(
      fc.asyncProperty(configuration, configuration, async (before, declared) => {
        const cluster = configuredCluster(before)
        const first = await stateOf(cluster)
        const plan = await applyText(cluster, textOf(declared))
        const second = await stateOf(cluster)
        await revert(cluster, plan)
        assert.equal(await stateOf(cluster), first)
        const { length } = cluster.written
        const again = await planReversal(cluster, plan, preview, now)
        assert.deepEqual(again.plan.changes, [])
        assert.equal(cluster.written.length, length)
        if (second === first) assert.deepEqual(plan.changes, [])
      }),
      { numRuns: 40 },
    )
  })

  test('can be reverted, too', async () => {
    const cluster = configuredCluster({ rules: { a: [{ type: 'loadForever' }] } })
    const plan = await applyText(cluster, 'rules: {a: [{type: dropForever}]}')
    const made = await planReversal(cluster, plan, preview, now)
    await apply(cluster, made)
    assert.deepEqual(cluster.configuration.rules.a, [{ type: 'loadForever' }])
    await revert(cluster, made.plan)
    assert.deepEqual(cluster.configuration.rules.a, [{ type: 'dropForever' }])
  })

  test('is refused if the same entries were changed since, and says which', async () => {
    const cluster = configuredCluster({ rules: { a: [], b: [{ type: 'loadForever' }] } })
    const plan = await applyText(cluster, 'rules: {a: [{type: dropForever}], b: [{type: dropForever}]}')
    cluster.configuration.rules.c = [{ type: 'dropForever' }]
    cluster.configuration.rules.a = [{ type: 'loadForever' }]
    await assert.rejects(planReversal(cluster, plan, preview, now), {
      code: 'forbidden',
      message: `Parts of the configuration were changed after plan [${plan.id}] was applied: [rules.a]. Nothing was reverted.`,
    })
  })

  test('previews and marks the segments that its rules have marked as unused since it was applied', async () => {
    const cluster = configuredCluster({ rules: { a: [{ type: 'loadForever' }], b: [] } })
    await applyText(cluster, 'rules: {a: [{type: loadForever}], b: [{type: loadForever}]}')
    const plan = await applyText(cluster, 'rules: {a: [{type: dropForever}], b: [{type: loadForever}]}')
    previews.length = 0
    await revert(cluster, plan)
    assert.deepEqual(previews, [{ rules: { a: [{ type: 'loadForever' }] }, markUsedSince: 2 }])
    assert.equal(await restoreSegments(cluster, plan, {}), 1)
    assert.equal(cluster.written.at(-1), 'POST /svc/coordinator/v1/rules/a/markUsed?since=2')
  })

  test('is refused if the history does not show when the plan was applied', async () => {
    const cluster = configuredCluster({ rules: { a: [{ type: 'loadForever' }] } })
    const plan = await applyText(
      configuredCluster(cluster.configuration),
      'rules: {a: [{type: dropForever}]}',
    )
    const refusal = {
      code: 'notFound',
      message:
        /^Plan \[\w+\] was not applied to this cluster: .*audit history of \[rules\.a\] .*Nothing was reverted/,
    }
    await assert.rejects(planReversal(cluster, plan, preview, now), refusal)
    cluster.configuration.rules.a = [{ type: 'dropForever' }]
    await assert.rejects(planReversal(cluster, plan, preview, now), refusal)
  })

  test('marks the predicted segments in Druid, which does not record why segments are unused', async () => {
    const sent: unknown[] = []
    const druid = {
      ...configuredCluster(),
      interfaceName: 'druid' as const,
      send: async (_method: string, at: string, body: unknown) => {
        sent.push([at, (body as { segmentIds: string[] }).segmentIds.length])
        return { numChangedSegments: 3 }
      },
    }
    const plan = await applyText(configuredCluster({ rules: { a: [] } }), 'rules: {a: [{type: dropForever}]}')
    const unusedSegments = { a: Array.from({ length: 1500 }, (_, index) => `a_${index}`) }
    assert.equal(await restoreSegments(druid, { ...plan, unusedSegments }, {}), 6)
    const at = '/svc/coordinator/v1/datasources/a/markUsed'
    assert.deepEqual(sent, [
      [at, 1000],
      [at, 500],
    ])
  })

  test('cannot restore passwords, and says so', () => {
    const at = ['authenticators', 'basic', 'users', 'ann']
    const { changes, warnings } = reversalOf({
      changes: [
        { kind: 'logins', path: at, action: 'remove', before: {} },
        { kind: 'coordinator', path: ['coordinator', 'newField'], action: 'add', after: 1 },
      ],
    })
    assert.deepEqual(changes, [{ kind: 'logins', path: at, action: 'add', before: undefined, after: {} }])
    assert.deepEqual(warnings, [
      '[authenticators.basic.users.ann] is created again without a password',
      '[coordinator.newField] had no value before the plan was applied and keeps its current value',
    ])
  })
})

describe('an interrupted plan', () => {
  const text = 'rules: {a: [{type: dropForever}], b: [{type: dropForever}]}'
  const planFor = async (cluster: ConfiguredCluster, declared: string) => {
    const file = path.join(mkdtempSync(path.join(root, 'state-')), 'state.yaml')
    writeFileSync(file, declared)
    const compared = await compareFiles(cluster, readDeclaredFiles(file), { parts: [], create: true })
    return await makePlan(cluster, compared, preview, now)
  }
  /** Applies the text, and is interrupted after one of two changes. */
  async function interrupted() {
    const cluster = configuredCluster({ rules: { a: [], b: [{ type: 'loadForever' }] } })
    const made = await planFor(cluster, text)
    cluster.failAfter = 1
    await assert.rejects(apply(cluster, made))
    cluster.failAfter = Number.POSITIVE_INFINITY
    return { cluster, started: made.plan }
  }

  test('is continued by the same files, so that its ID reverts all changes', async () => {
    const { cluster, started } = await interrupted()
    const rest = await planFor(cluster, text)
    assert.equal(rest.plan.changes.length, 1)
    const resumed = resumedPlan(rest.plan, started, rest.live)
    assert.equal(resumed.id, started.id)
    await apply(cluster, { ...rest, plan: resumed })
    await revert(cluster, resumed)
    const { a, b } = cluster.configuration.rules
    assert.deepEqual([a, b], [[], [{ type: 'loadForever' }]])
  })

  test('is not continued if the files, the cluster, or the losses are different', async () => {
    const { cluster, started } = await interrupted()
    const same = await planFor(cluster, text)
    const other = await planFor(cluster, text.replace('b: [{type: dropForever}]', 'b: []'))
    const more = await planFor(cluster, `${text.slice(0, -1)}, c: [{type: dropForever}]}`)
    const loss = { unqueryable: 1, unqueryableBytes: 1, unused: 1, unusedBytes: 1 }
    const cases: [name: string, plan: Plan, before: Plan | undefined, live: typeof same.live][] = [
      ['nothing was started', same.plan, undefined, same.live],
      ['other changes', other.plan, started, other.live],
      ['more changes', more.plan, started, more.live],
      ['another cluster', same.plan, { ...started, clusterId: 'other' }, same.live],
      ['more losses', { ...same.plan, losses: { b: loss } }, started, same.live],
      ['other unused segments', { ...same.plan, unusedSegments: { b: ['b_1'] } }, started, same.live],
      ['a part that was not read', same.plan, started, { ...same.live, sections: new Map() }],
    ]
    for (const [name, plan, before, live] of cases) {
      assert.equal(resumedPlan(plan, before, live), plan, name)
      const isNew = before !== undefined && before.clusterId === plan.clusterId
      const notices = isNew ? [`Plan ${before.id} was interrupted`] : []
      assert.deepEqual(
        interruptedNotices(plan, before).map((notice) => notice.split(',')[0]),
        notices,
        name,
      )
    }
    assert.deepEqual(interruptedNotices(started, started), [])
    cluster.configuration.rules.a = [{ type: 'loadForever' }]
    const changed = await planFor(cluster, text)
    assert.equal(resumedPlan(changed.plan, started, changed.live), changed.plan)
  })

  test('is known until it is completed', async () => {
    const environment = { XDG_STATE_HOME: path.join(root, 'started') }
    const { started } = await interrupted()
    assert.equal(startedPlan('https://a', environment), undefined)
    noteStarted('https://a', started.id, environment)
    // It was not recorded.
    assert.equal(startedPlan('https://a', environment), undefined)
    recordPlan(started, environment)
    assert.equal(startedPlan('https://a', environment)?.id, started.id)
    noteCompleted('https://a', '0123456789abcdef', environment)
    assert.equal(startedPlan('https://a', environment)?.id, started.id)
    noteCompleted('https://a', started.id, environment)
    assert.equal(startedPlan('https://a', environment), undefined)
  })
})

describe('the record of applied plans', () => {
  test('shows what was started in each cluster and not finished', () => {
    const environment = { XDG_STATE_HOME: path.join(root, 'unfinished') }
    assert.equal(unfinishedIn('https://a:1', environment), undefined)
    noteFinished('https://a:1', environment)
    noteUnfinished('https://a:1', unfinishedWork(), environment)
    noteUnfinished('https://b', unfinishedWork('1234'), environment)
    assert.equal(unfinishedIn('https://a:1', environment), unfinishedWork())
    assert.equal(unfinishedIn('https://b', environment), unfinishedWork('1234'))
    noteFinished('https://a:1', environment)
    assert.equal(unfinishedIn('https://a:1', environment), undefined)
    assert.equal(unfinishedIn('https://b', environment), unfinishedWork('1234'))
  })

  test('cannot be written where no folder can be created', async () => {
    const plan = await applyText(configuredCluster({ rules: { a: [] } }), 'rules: {a: [{type: dropForever}]}')
    const environment = { XDG_STATE_HOME: '/proc/no-folder' }
    assert.throws(() => recordPlan(plan, environment), { code: 'ENOENT' })
    assert.throws(() => noteUnfinished('https://a', 'x', environment), { code: 'ENOENT' })
    assert.throws(() => noteStarted('https://a', 'x', environment), { code: 'ENOENT' })
  })

  test('is replaced as a whole: a user who reads the earlier record gets all of it', async () => {
    const plan = await applyText(configuredCluster({ rules: { a: [] } }), 'rules: {a: [{type: dropForever}]}')
    const environment = { XDG_STATE_HOME: path.join(root, 'replaced') }
    const earlier = openSync(recordPlan(plan, environment), 'r')
    recordPlan({ ...plan, createdAt: '2020-01-01' }, environment)
    assert.equal(readFileSync(earlier, 'utf8'), planText(plan))
    closeSync(earlier)
  })

  test('finds a plan by its ID or file, and refuses one that was edited', async () => {
    const plan = await applyText(configuredCluster({ rules: { a: [] } }), 'rules: {a: [{type: dropForever}]}')
    const environment = { XDG_STATE_HOME: path.join(root, 'record') }
    const file = recordPlan(plan, environment)
    for (const given of [plan.id, file])
      assert.deepEqual(planText(findAppliedPlan(given, environment)), planText(plan))
    for (const unknown of ['0123456789abcdef', '../../no/such/file'])
      assert.throws(() => findAppliedPlan(unknown, environment), /^Failure: Unknown plan \[/)
    assert.throws(() => findAppliedPlan(path.dirname(file), environment), {
      code: 'invalidInput',
      message: /^Failed to read the plan \[.+\]: The path is a folder: expected a file$/,
    })
    writeFileSync(file, planText({ ...plan, createdAt: '2020-01-01' }))
    assert.throws(() => findAppliedPlan(plan.id, environment), /was edited or is damaged/)
  })

  test('names the file, line, and column of what is wrong in a plan', async () => {
    const text = planText(
      await applyText(configuredCluster({ rules: { a: [] } }), 'rules: {a: [{type: dropForever}]}'),
    )
    const file = path.join(root, 'plan.json')
    const cases: [written: string, expected: RegExp][] = [
      [text.replace('dropForever', 'loadForever'), /^3:8: Plan \[\w+\] in .* was edited or is damaged/],
      [
        text.replace('"changes": [', '"changes": [],\n "changes": ['),
        /^\d+:2: Duplicate \[changes\]: expected only one$/,
      ],
      [
        text.replace('"version": 1', '"version": 2'),
        /^2:13: Invalid value \[2\] for \[version\]: expected \[1\]/,
      ],
      [
        text.replace('"kind": "rules"', '"kind": "magic"'),
        /^9:12: Invalid value \[magic\] for \[changes\[0\]\.kind\]/,
      ],
      [text.replace('{', '{"force": true,'), /^1:11: Unknown field \[force\]/],
      [
        text.replace('"type"', `"deep": ${'['.repeat(20_000)}${']'.repeat(20_000)}, "type"`),
        /^\d+:\d+: Values are nested too deeply/,
      ],
      ['[]', /^1:1: Invalid contents: expected a plan saved by/],
      [text.slice(0, 100), /^\d+:\d+: Invalid JSON: /],
    ]
    for (const [written, expected] of cases) {
      writeFileSync(file, written)
      assert.throws(
        () => findAppliedPlan(file, {}),
        ({ code, message }: Failure) => {
          assert.equal(code, 'invalidInput')
          assert.ok(message.startsWith(`${file}:`), message)
          assert.match(message.slice(file.length + 1), expected)
          return true
        },
      )
    }
  })
})

test('a policy checks only the rules that change', async () => {
  const policy = readRulesPolicy({ minReplicas: 2 }, '')
  const answer = (await preview({})) as AnsweredPreview
  const change = (after: unknown) =>
    ({ kind: 'rules', path: ['rules', 'a'], action: 'change', after }) as const
  const one = [{ type: 'loadForever', tieredReplicants: { hot: 1 } }]
  assert.equal(violationsOf(policy, [change(one)], answer).length, 1)
  assert.deepEqual(violationsOf(policy, [change([{ type: 'loadByMoon' }]), change(undefined)], answer), [])
  assert.deepEqual(violationsOf(policy, [{ ...change(one), kind: 'coordinator' }], undefined), [])
})
