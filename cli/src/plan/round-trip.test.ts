import assert from 'node:assert/strict'
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, describe, test } from 'node:test'
import { Failure } from '@svc/domain/failure'
import { canonicalJson } from '@svc/domain/json'
import { planText } from '@svc/domain/saved-plan'
import fc from 'fast-check'
import { isNothing, meaningOf, type Plan, parsePlan, parseState, planOf } from '../declared-state/index.ts'
import { incompleteNotice, readLiveState, withHiddenEntries } from '../live-state/index.ts'
import type { AnsweredPreview, PreviewRules } from '../preview/index.ts'
import { existingStateFiles, schemaFile, writeState } from '../state-files/index.ts'
import { type ClusterConfiguration, type ConfiguredCluster, configuredCluster } from '../testing/index.ts'
import {
  applySteps,
  compareFiles,
  diffText,
  makePlan,
  placeOfPassword,
  planHtml,
  planMarkdown,
  planReport,
  readDeclaredFiles,
  readPasswords,
  readPlan,
  remainingSteps,
} from './index.ts'
import type { Step } from './safe-order.ts'

const root = mkdtempSync(path.join(tmpdir(), 'svc-plan-'))
after(() => rmSync(root, { recursive: true, force: true }))
const newFolder = (): string => mkdtempSync(path.join(root, 'state-'))
const now = new Date('2026-01-01')

/** A preview in which datasources lose these numbers of segments, of this size. */
const previewWith =
  (unused: Readonly<Record<string, number>>, segmentBytes = 10): PreviewRules =>
  async () => {
    const none = { segments: 0, bytes: 0, days: 0, interval: null, queryableBefore: 0 }
    const datasources = Object.fromEntries(
      Object.entries(unused).map(([name, segments]) => [
        name,
        {
          effects: {
            unqueryable: none,
            unused: { ...none, segments, bytes: segments * segmentBytes },
            dropped: none,
            moved: none,
          },
        },
      ]),
    )
    return {
      now: now.toISOString(),
      known: true,
      summary: { datasources },
      warnings: [],
    } as unknown as AnsweredPreview
  }
const preview = previewWith({})

async function pull(cluster: ConfiguredCluster, folder: string) {
  const files = existingStateFiles(folder)
  const declared = parseState(files)
  return writeState(
    folder,
    files,
    declared,
    await withHiddenEntries(cluster, await readLiveState(cluster), declared),
  )
}

const compare = (cluster: ConfiguredCluster, folder: string) =>
  compareFiles(cluster, readDeclaredFiles(folder), { parts: [], create: true })

const events = {
  signal: new AbortController().signal,
  onApplied: () => undefined,
  onOverwritten: () => undefined,
  untilLoaded: async () => undefined,
}

/** The steps of a plan of which nothing was applied before. */
const firstOf = (steps: readonly Step[]) => ({ steps, rulesChanged: false })

async function apply(cluster: ConfiguredCluster, folder: string): Promise<Plan> {
  const { plan, steps } = await makePlan(cluster, await compare(cluster, folder), preview, now)
  await applySteps(
    { client: cluster, headers: {}, passwordOf: readPasswords(steps, { PASSWORD: 'from-env' }, 5) },
    firstOf(steps),
    events,
  )
  return plan
}

const filesIn = (folder: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(folder)
      .sort()
      .map((name) => [name, readFileSync(path.join(folder, name), 'utf8')]),
  )

/** What a cluster has, without defaults and without the order of sets. */
async function stateOf(cluster: ConfiguredCluster): Promise<readonly string[]> {
  const { sections } = await readLiveState(cluster)
  return [...sections.values()]
    .flatMap(({ kind, path: at, entries }) =>
      [...entries]
        .filter(([, value]) => !isNothing(kind, value))
        .map(([key, value]) => `${at.join('.')} ${key} ${canonicalJson(meaningOf(kind, value, key))}`),
    )
    .sort()
}

const name = fc.constantFrom(
  'wiki',
  'a.b',
  '2024',
  'null',
  'true',
  '#x',
  "it's",
  'ä: "quoted"',
  '- list',
  '~',
  '<<',
  '__proto__',
  'constructor',
)
const period = fc.constantFrom('P1D', 'P1M', 'P1Y')
const replicants = fc.dictionary(fc.constantFrom('hot', '_default_tier', 'a.b', '0'), fc.nat({ max: 3 }))
const rule = fc.oneof(
  fc.record({
    type: fc.constant('loadByPeriod'),
    period,
    tieredReplicants: replicants,
    includeFuture: fc.boolean(),
  }),
  fc.record({
    tieredReplicants: replicants,
    useDefaultTierForNull: fc.constant(true),
    type: fc.constant('loadForever'),
  }),
  fc.constant({ type: 'dropForever' }),
  // Rules and fields of another version of Druid.
  fc.record({
    type: fc.constant('loadByMoon'),
    phase: fc.oneof(fc.constant(null), fc.double({ noDefaultInfinity: true, noNaN: true }), fc.string()),
  }),
  fc.record({ type: fc.constant('dropForever'), unlessFullMoon: fc.boolean() }),
)
const rules = fc.array(rule, { maxLength: 4 })
const compaction = fc.record(
  {
    skipOffsetFromLatest: period,
    taskPriority: fc.constantFrom(25, 30),
    tuningConfig: fc.constantFrom(
      null,
      { type: 'index_parallel', maxRowsInMemory: null },
      { unknown: [null, 1e300] },
    ),
    surprise: fc.json().map((text) => JSON.parse(text) as unknown),
  },
  { requiredKeys: [] },
)
const role = fc.constantFrom('admin', 'reader', 'wr/iter')
const roles = fc.uniqueArray(role, { maxLength: 3 })
const configuration: fc.Arbitrary<Partial<ClusterConfiguration>> = fc.record({
  rules: fc.dictionary(name, rules).map((lists) => ({ ...lists, _default: [{ type: 'loadForever' }] })),
  coordinator: fc.record({
    maxSegmentsToMove: fc.nat({ max: 5 }),
    decommissioningNodes: fc.uniqueArray(fc.constantFrom('a:1', 'b:2')),
    newField: fc.constantFrom(1, 'x', [1, { y: 2 }]),
  }),
  compactionCluster: fc.record({
    compactionTaskSlotRatio: fc.constantFrom(0.1, 0.5),
    maxCompactionTaskSlots: fc.nat({ max: 2 }),
    compactionPolicy: fc.constantFrom(
      { type: 'newestSegmentFirst', priorityDatasource: null },
      { type: 'other' },
    ),
  }),
  compaction: fc
    .dictionary(name, compaction)
    .map((configs) =>
      Object.fromEntries(
        Object.entries(configs).map(([key, config]) => [key, { dataSource: key, ...config }]),
      ),
    ),
  roles: fc.record({
    admin: fc.constant([]),
    reader: fc.subarray([
      { resource: { name: '.*', type: 'DATASOURCE' }, action: 'READ' },
      { resource: { name: 'x', type: 'MOON' }, action: 'WRITE' },
    ]),
    'wr/iter': fc.constant([{ resource: { name: 'a"b', type: 'STATE' }, action: 'WRITE' }]),
  }),
  users: fc.dictionary(name, roles),
  groupMappings: fc.dictionary(
    name,
    fc.record({ groupPattern: fc.constantFrom('*', 'cn=a,dc=b', '*,dc=b'), roles }),
  ),
  logins: fc.dictionary(name, fc.constantFrom('secret', null)),
})

describe('pull, plan, and apply', () => {
  test('a plan of what was pulled has no changes, whatever the cluster has', async () => {
    await fc.assert(
      fc.asyncProperty(configuration, async (given) => {
        const cluster = configuredCluster(given)
        const folder = newFolder()
        await pull(cluster, folder)
        assert.deepEqual((await compare(cluster, folder)).changes, [])
        const before = filesIn(folder)
        assert.deepEqual((await pull(cluster, folder)).files, [])
        assert.deepEqual(filesIn(folder), before)
      }),
      { numRuns: 25 },
    )
  })

  /** Pairs of configurations in which the second can be applied to the first: svc refuses new values that it cannot read. */
  const readable = (given: Partial<ClusterConfiguration>): Partial<ClusterConfiguration> =>
    JSON.parse(
      JSON.stringify(given, (key, value: unknown) => {
        if (['unlessFullMoon', 'surprise', 'tuningConfig', 'newField', 'compactionPolicy'].includes(key))
          return undefined
        if (key === 'maxCompactionTaskSlots') return 1 + (value as number)
        if (!Array.isArray(value)) return value
        return value.filter((item) => !/loadByMoon|MOON/.test(JSON.stringify(item)))
      }),
    ) as Partial<ClusterConfiguration>

  test('applying what was pulled from another cluster makes both equal, and a second time changes nothing', async () => {
    await fc.assert(
      fc.asyncProperty(configuration, configuration, async (first, second) => {
        const [from, to] = [configuredCluster(readable(second)), configuredCluster(readable(first))]
        const folder = newFolder()
        await pull(from, folder)
        const before = filesIn(folder)
        await apply(to, folder)
        assert.deepEqual(await stateOf(to), await stateOf(from))
        const { length } = to.written
        assert.deepEqual((await apply(to, folder)).changes, [])
        assert.equal(to.written.length, length)
        await pull(to, folder)
        assert.deepEqual(filesIn(folder), before)
      }),
      { numRuns: 25 },
    )
  })

  test('a saved plan that is interrupted after any request ends in the same state', async () => {
    await fc.assert(
      fc.asyncProperty(configuration, configuration, fc.nat({ max: 8 }), async (first, second, requests) => {
        const [from, to] = [configuredCluster(readable(second)), configuredCluster(readable(first))]
        const folder = newFolder()
        await pull(from, folder)
        const { plan } = await makePlan(to, await compare(to, folder), preview, now)
        const saved = parsePlan(JSON.parse(JSON.stringify(plan)), 'plan.json')
        for (;;) {
          to.failAfter = to.written.length + requests + 1
          const remaining = await remainingSteps(to, saved, preview)
          const isDone = await applySteps(
            { client: to, headers: {}, passwordOf: () => undefined },
            remaining,
            events,
          ).then(
            () => true,
            (error: unknown) => {
              assert.ok(error instanceof Failure && error.code === 'unavailable', String(error))
              return false
            },
          )
          if (isDone) break
        }
        assert.deepEqual(await stateOf(to), await stateOf(from))
      }),
      { numRuns: 25 },
    )
  })

  test('a pull keeps comments, the order, and rule sets', async () => {
    const folder = newFolder()
    const text = `# Owned by the data team.
ruleSets:
  hot-week: # one week
    - type: loadByPeriod
      period: P7D
      tieredReplicants: {hot: 2}
rules:
  # Important.
  wiki:
    - ruleSet: hot-week
    - type: dropForever # the rest
  other:
    # Keep this.
    - type: loadByPeriod
      period: P1M
    - type: dropForever
  _default: # everything else
    - type: loadForever
`
    writeFileSync(path.join(folder, 'rules.yaml'), text)
    const cluster = configuredCluster()
    await apply(cluster, folder)
    assert.deepEqual(cluster.configuration.rules.wiki, [
      { type: 'loadByPeriod', period: 'P7D', tieredReplicants: { hot: 2 } },
      { type: 'dropForever' },
    ])
    assert.deepEqual((await pull(cluster, folder)).files, [])
    cluster.configuration.rules.other = [
      { type: 'loadByPeriod', period: 'P1M' },
      { type: 'loadByPeriod', period: 'P2M', tieredReplicants: { cold: 1 } },
      { type: 'dropForever' },
    ]
    cluster.configuration.rules.third = [{ type: 'dropForever' }]
    await pull(cluster, folder)
    assert.equal(
      readFileSync(path.join(folder, 'rules.yaml'), 'utf8'),
      text
        .replace(
          'period: P1M\n',
          'period: P1M\n    - type: loadByPeriod\n      period: P2M\n      tieredReplicants:\n        cold: 1\n',
        )
        .concat('  third:\n    - type: dropForever\n'),
    )
    assert.deepEqual(readdirSync(folder).sort(), ['rules.yaml', schemaFile])
  })

  test('a pull keeps what the user may not read, and a plan refuses it, with its position', async () => {
    const cluster = configuredCluster({
      rules: {
        a: [{ type: 'dropForever' }],
        b: [{ type: 'dropForever' }],
        _default: [{ type: 'loadForever' }],
      },
      compaction: { b: { dataSource: 'b' } },
    })
    const folder = newFolder()
    await pull(cluster, folder)
    const before = filesIn(folder)
    const [file] = [path.join(folder, 'rules.yaml')]
    writeFileSync(file, `${readFileSync(file, 'utf8')}  gone:\n    - type: dropForever\n`)
    const { plan } = await makePlan(cluster, await compare(cluster, folderOf('rules: {}')), preview, now)
    cluster.hidden.add('b')
    const [refused] = await Promise.allSettled([compare(cluster, folder)])
    assert.equal((refused as PromiseRejectedResult).reason.code, 'forbidden')
    const message = String((refused as PromiseRejectedResult).reason).replaceAll(`${folder}/`, '')
    assert.match(
      message,
      /^Failure: compaction\.yaml:\d+:\d+: No access: .*\nrules\.yaml:\d+:\d+: No access:/,
    )
    cluster.configuration.rules.gone = []
    assert.deepEqual((await pull(cluster, folder)).entries, ['rules.gone'])
    assert.deepEqual(filesIn(folder), before)
    // A rule that the user cannot see looks as if it was removed.
    await assert.rejects(remainingSteps(cluster, plan, preview), {
      code: 'forbidden',
      message: 'Nothing was changed: the user has no permission to read [rules.b]',
    })
  })

  describe('a pull by a user who may not read every datasource', () => {
    const dropped = [{ type: 'dropForever' }]
    const cluster = configuredCluster({
      rules: { a: dropped, b: dropped, _default: [{ type: 'loadForever' }] },
      compaction: { a: { dataSource: 'a' }, b: { dataSource: 'b' } },
    })
    const noticeFor = async (folder: string) => {
      const declared = parseState(existingStateFiles(folder))
      return incompleteNotice(await withHiddenEntries(cluster, await readLiveState(cluster), declared))
    }

    test('shows a notice that names the sections that leave out datasources', async () => {
      cluster.hidden.clear()
      assert.deepEqual(await noticeFor(newFolder()), [])
      cluster.hidden.add('b')
      const rest =
        'If another user applies these files without --target, that removes the entries that were left out.'
      const leftOut = 'Entries of datasources that this user may not read are left out of'
      assert.deepEqual(await noticeFor(newFolder()), [
        `${leftOut} [rules] and [compaction.datasources]. ${rest}`,
      ])
      assert.deepEqual(await noticeFor(folderOf('rules: {a: []}')), [`${leftOut} [rules]. ${rest}`])
      assert.deepEqual(await noticeFor(folderOf('coordinator: {maxSegmentsToMove: 5}')), [])
    })

    test('writes no empty section, which would remove what the user may not read', async () => {
      const [folder, other] = [newFolder(), newFolder()]
      cluster.hidden.add('b')
      await pull(cluster, other)
      assert.match(filesIn(other)['compaction.yaml']!, /datasources:\n {4}a:/)
      cluster.hidden.add('a')
      await pull(cluster, folder)
      assert.doesNotMatch(filesIn(folder)['compaction.yaml']!, /datasources/)
      cluster.hidden.delete('a')
      delete cluster.configuration.compaction.a
      assert.deepEqual((await pull(cluster, other)).entries, ['compaction.datasources.a'])
      assert.doesNotMatch(filesIn(other)['compaction.yaml']!, /datasources/)
      cluster.hidden.clear()
      assert.deepEqual(
        (await compare(cluster, folder)).changes.map((one) => one.path),
        [
          ['rules', 'a'],
          ['rules', 'b'],
        ],
      )
    })
  })

  test('a pull that cannot write every file writes none, and can be repeated', async () => {
    const [cluster, folder] = [configuredCluster({ logins: { bob: 'secret' } }), newFolder()]
    // The last file of the four cannot be written.
    mkdirSync(path.join(folder, `security.yaml.${process.pid}.tmp`))
    await assert.rejects(pull(cluster, folder), {
      code: 'invalidInput',
      message: /^Failed to write \[.+security\.yaml\]: EISDIR.+ No file was changed\.$/,
    })
    assert.deepEqual(readdirSync(folder), [])
    await pull(cluster, folder)
    const files = ['compaction.yaml', 'coordinator.yaml', 'rules.yaml', 'security.yaml', schemaFile]
    assert.deepEqual(readdirSync(folder).sort(), files)
  })

  test('a pull into a folder that cannot be created fails', async () => {
    await assert.rejects(pull(configuredCluster({}), '/proc/state/of-a-cluster'), {
      code: 'invalidInput',
      message: /^Failed to write \[\/proc\/state\/of-a-cluster\/.+\]: ENOENT.+ No file was changed\.$/,
    })
  })

  test('a pull that cannot replace a file names the ones that it replaced, and leaves no other files', async () => {
    const [cluster, folder] = [configuredCluster({ logins: { bob: 'secret' } }), newFolder()]
    mkdirSync(path.join(folder, schemaFile))
    await assert.rejects(pull(cluster, folder), {
      code: 'invalidInput',
      message: /^Failed to replace \[.+\]: E\w+.+ Files that were replaced before it: \[.*\]\.$/,
    })
    assert.ok(!readdirSync(folder).some((name) => name.endsWith('.tmp')))
  })

  test('a pull changes only the lines that differ, even behind a symbolic link', async () => {
    const [folder, other] = [newFolder(), newFolder()]
    const text = `coordinator:\r
    maxSegmentsToMove: 100   # not too many\r
    decommissioningNodes:    [a, b] # both\r
\r
\r
rules:\r
    wiki:\r
        # One month.\r
        - type: loadByPeriod\r
          includeFuture: true # also the default\r
          period: P1M # about four weeks\r
    _default: [{type: loadForever}]\r
`
    writeFileSync(path.join(other, 'shared.yaml'), text)
    symlinkSync(path.join(other, 'shared.yaml'), path.join(folder, 'state.yaml'))
    const cluster = configuredCluster()
    await apply(cluster, folder)
    cluster.configuration.coordinator.maxSegmentsToMove = 7
    cluster.configuration.coordinator.decommissioningNodes = ['b', 'a']
    cluster.configuration.rules.wiki = [{ type: 'loadByPeriod', includeFuture: true, period: 'P2M' }]
    await pull(cluster, folder)
    assert.equal(
      readFileSync(path.join(other, 'shared.yaml'), 'utf8'),
      text.replace('100', '7').replace('P1M', 'P2M'),
    )
    assert.ok(lstatSync(path.join(folder, 'state.yaml')).isSymbolicLink())
  })
})

/** A new folder with one file. */
function folderOf(text: string): string {
  const folder = newFolder()
  writeFileSync(path.join(folder, 'state.yaml'), text)
  return folder
}

describe('apply', () => {
  async function twoRules() {
    const cluster = configuredCluster({
      rules: { a: [], b: [{ type: 'dropForever' }], _default: [{ type: 'loadForever' }] },
    })
    const folder = newFolder()
    writeFileSync(
      path.join(folder, 'rules.yaml'),
      'rules:\n  a: [{type: loadForever}]\n  _default: [{type: dropForever}]\n',
    )
    const harmless = previewWith({ a: 0, b: 0 })
    const { plan, steps } = await makePlan(cluster, await compare(cluster, folder), harmless, now)
    return { cluster, folder, plan, steps }
  }
  const context = (client: ConfiguredCluster) => ({ client, headers: {}, passwordOf: () => undefined })

  test('changes the cluster defaults after other rules, and immediately afterward the rules that depend on them', async () => {
    const { cluster, folder } = await twoRules()
    const dependent: PreviewRules = (body) => previewWith({ a: 0, b: 'defaultRules' in body ? 0 : 1 })(body)
    const { steps } = await makePlan(cluster, await compare(cluster, folder), dependent, now)
    await applySteps(context(cluster), firstOf(steps), events)
    assert.deepEqual(
      cluster.written,
      ['a', '_default', 'b'].map((one) => `POST /svc/coordinator/v1/rules/${one}`),
    )
  })

  test('waits between rules that only add and rules that lose data', async () => {
    const { cluster, folder } = await twoRules()
    const waits: string[] = []
    const lossy = previewWith({ b: 3, a: 0 })
    const { steps } = await makePlan(cluster, await compare(cluster, folder), lossy, now)
    await applySteps(context(cluster), firstOf(steps), {
      ...events,
      untilLoaded: async (phase) => void waits.push(`${phase} after ${cluster.written.length}`),
    })
    assert.deepEqual(waits, ['losses after 1'])
  })

  test('after an interruption anywhere, even in a wait, rules that lose data are applied only after a wait', async () => {
    const lossy: PreviewRules = async (body) =>
      previewWith(Object.hasOwn(body.rules as object, 'b') ? { a: 0, b: 3 } : { a: 0 })(body)
    for (const interruptedAt of ['request 1', 'wait', 'request 2', 'request 3'] as const) {
      const { cluster, folder } = await twoRules()
      const { plan } = await makePlan(cluster, await compare(cluster, folder), lossy, now)
      const waits: number[] = []
      const run = async (options: { failAfter?: number; failsInWait?: boolean }) => {
        cluster.failAfter = options.failAfter ?? Number.POSITIVE_INFINITY
        const remaining = await remainingSteps(cluster, plan, lossy)
        await applySteps(context(cluster), remaining, {
          ...events,
          untilLoaded: async () => {
            if (options.failsInWait) throw new Error('interrupted')
            waits.push(cluster.written.length)
            return undefined
          },
        })
      }
      const requests = /\d/.exec(interruptedAt)?.[0]
      await assert.rejects(
        run(requests === undefined ? { failsInWait: true } : { failAfter: Number(requests) - 1 }),
      )
      await run({})
      // Each command that applies the losses has waited before.
      const expected = { 'request 1': [1], wait: [1], 'request 2': [1, 1], 'request 3': [1, 2] }[
        interruptedAt
      ]
      assert.deepEqual(waits, expected, interruptedAt)
      assert.equal(cluster.written.length, 3)
      const done = await remainingSteps(cluster, plan, lossy)
      assert.deepEqual([done.steps, done.done, done.rulesChanged], [[], 3, true])
    }
  })

  test('applies what is planned again after a wait', async () => {
    const { cluster, folder } = await twoRules()
    const lossy = previewWith({ b: 3, a: 0 })
    const { plan, steps } = await makePlan(cluster, await compare(cluster, folder), lossy, now)
    const grown = previewWith({ b: 4, a: 0 })
    const untilLoaded = async () => (await remainingSteps(cluster, plan, grown)).steps
    await assert.rejects(applySteps(context(cluster), firstOf(steps), { ...events, untilLoaded }), {
      code: 'forbidden',
      message: /^More data would be lost/,
    })
    assert.deepEqual(cluster.written, ['POST /svc/coordinator/v1/rules/a'])
    // Someone else does the rest in the meantime.
    await applySteps(
      context(cluster),
      { steps: steps.slice(1), rulesChanged: true },
      { ...events, untilLoaded: async () => [] },
    )
    assert.equal(cluster.written.length, 1)
  })

  test('refuses a plan if the configuration has changed since, and says what', async () => {
    const { cluster, plan } = await twoRules()
    cluster.configuration.rules.b = [{ type: 'loadForever' }]
    cluster.configuration.rules.c = [{ type: 'loadForever' }]
    await assert.rejects(remainingSteps(cluster, plan, preview), {
      code: 'forbidden',
      message: `Parts of the configuration were changed after plan [${plan.id}] was created: [rules.b], [rules.c]. Create a new plan.`,
    })
  })

  test('a plan of some parts ignores changes of other parts, but not of its own', async () => {
    const cluster = configuredCluster({ rules: { a: [], b: [] } })
    const folder = folderOf('rules:\n  a: [{type: loadForever}]\n  b: [{type: loadForever}]\n')
    const planned = async (...parts: string[]) => {
      const compared = await compareFiles(cluster, readDeclaredFiles(folder), { parts, create: true })
      const { plan } = await makePlan(cluster, compared, preview, now)
      return parsePlan(JSON.parse(JSON.stringify(plan)), 'plan.json')
    }
    const [some, all] = [await planned('rules.a'), await planned()]
    cluster.configuration.rules.b = [{ type: 'dropForever' }]
    cluster.configuration.rules.c = [{ type: 'loadForever' }]
    const { steps } = await remainingSteps(cluster, some, preview)
    assert.deepEqual(
      steps.flatMap(({ changes }) => changes.map((one) => one.path)),
      [['rules', 'a']],
    )
    await assert.rejects(remainingSteps(cluster, all, preview), /\[rules\.b\], \[rules\.c\]/)
    cluster.configuration.rules.a = [{ type: 'dropForever' }]
    await assert.rejects(remainingSteps(cluster, some, preview), /created: \[rules\.a\]\. Create/)
  })

  test('escapes control characters in the names of a plan', async () => {
    const { cluster, plan } = await twoRules()
    const { version: _, id: __, ...contents } = plan
    const [change] = plan.changes
    const forged = planOf({
      ...contents,
      changes: [{ ...change!, path: ['rules', 'a\u001b[31m'], before: [{ type: 'dropForever' }], after: [] }],
    })
    const other = { ...cluster.configuration.rules, 'a\u001b[31m': [{ type: 'loadForever' }] }
    await assert.rejects(remainingSteps(configuredCluster({ rules: other }), forged, preview), {
      message: /\[rules\.a\\u001b\[31m\]/,
    })
  })

  test('a loss of a datasource that is named like a method is compared with no loss', async () => {
    const { cluster, folder } = await twoRules()
    const { plan } = await makePlan(cluster, await compare(cluster, folder), preview, now)
    await assert.rejects(remainingSteps(cluster, plan, previewWith({ constructor: 1 })), {
      message: /segments of \[constructor\] that are marked as unused: 1 \(10 B\) instead of 0 \(0 B\)/,
    })
  })

  test('refuses a plan if more data would be lost, but not if less would', async () => {
    const { cluster, folder } = await twoRules()
    const { plan } = await makePlan(cluster, await compare(cluster, folder), previewWith({ b: 3 }), now)
    await assert.rejects(remainingSteps(cluster, plan, previewWith({ b: 4 })), {
      code: 'forbidden',
      message:
        /: segments of \[b\] that are marked as unused: 4 \(40 B\) instead of 3 \(30 B\)\. Create a new plan/,
    })
    assert.equal((await remainingSteps(cluster, plan, previewWith({ b: 2 }))).done, 0)
  })

  test('refuses a plan if the same number of segments would be lost, but larger ones', async () => {
    const { cluster, folder } = await twoRules()
    const { plan } = await makePlan(cluster, await compare(cluster, folder), previewWith({ b: 3 }, 1e6), now)
    await assert.rejects(remainingSteps(cluster, plan, previewWith({ b: 3 }, 1e9)), {
      code: 'forbidden',
      message: /3 \(3\.0 GB\) instead of 3 \(3\.0 MB\)/,
    })
    await assert.rejects(remainingSteps(cluster, plan, previewWith({ b: 3 }, 1e6 + 1)), {
      message: /3 \(3,000,003 B\) instead of 3 \(3,000,000 B\)/,
    })
    assert.equal((await remainingSteps(cluster, plan, previewWith({ b: 1 }, 1e6))).done, 0)
  })

  test('refuses a plan that was edited, for another cluster, or of another version', async () => {
    const { plan, cluster } = await twoRules()
    const edited = {
      ...plan,
      losses: { b: { unqueryable: 9, unqueryableBytes: 9, unused: 9, unusedBytes: 9 } },
    }
    assert.throws(
      () => parsePlan(edited, 'plan.json'),
      /^Failure: Plan \[.+\] in \[plan\.json\] was edited or is damaged/,
    )
    assert.throws(() => parsePlan({ ...plan, version: 2 }, 'x'), /Invalid value \[2\] for \[version\]/)
    assert.throws(() => parsePlan([], 'x'), /Invalid value/)
    await assert.rejects(
      remainingSteps({ ...cluster, routerUrl: 'http://other' }, plan, preview),
      /is for \[http:\/\/router\]/,
    )
  })

  describe('refuses a plan with a change that svc does not make, even if its ID matches its contents', () => {
    const path = ['rules', 'a']
    const user = ['authorizers', 'basic', 'users', 'a']
    const login = ['authenticators', 'basic', 'users', 'a']
    const cases: [name: string, change: object, message: RegExp][] = [
      [
        'a path of another kind',
        { kind: 'rules', path: ['prices', 'a'], after: [] },
        /Invalid value \[prices\.a\] for \[changes\[0\]\.path\]/,
      ],
      [
        'a name that is a part of a URL',
        { kind: 'rules', path: ['rules', '..'], after: [] },
        /\[rules\.\.\.\] for/,
      ],
      ['a path without a name', { kind: 'rules', path: ['rules'], after: [] }, /Invalid value \[rules\] for/],
      ['rules that are not a list', { kind: 'rules', path, after: 'x' }, /\[changes\[0\]\.after\]/],
      ['earlier rules that are not a list', { kind: 'rules', path, before: 5 }, /\[changes\[0\]\.before\]/],
      ['roles that are not names', { kind: 'users', path: user, after: [5] }, /\[changes\[0\]\.after/],
      [
        'a group mapping without a pattern',
        { kind: 'groupMappings', path: ['authorizers', 'basic', 'groupMappings', 'a'], after: {} },
        /\[changes\[0\]\.after\.groupPattern\]/,
      ],
      [
        'a password',
        { kind: 'logins', path: login, after: { password: 'secret' } },
        /expected an object with/,
      ],
      [
        'compaction that is not an object',
        { kind: 'compactionDatasources', path: ['compaction', 'datasources', 'a'], after: 5 },
        /\[changes\[0\]\.after\]/,
      ],
      [
        'a field without a value',
        { kind: 'coordinator', path: ['coordinator', 'x'], before: 1 },
        /\.after\]/,
      ],
      [
        'a new user without a value',
        { kind: 'logins', path: login, action: 'add' },
        /Invalid value \[add\] for \[changes\[0\]\.action\]: expected \[remove\]/,
      ],
      [
        'a removal that adds a user',
        { kind: 'logins', path: login, action: 'remove', after: {} },
        /Invalid value \[remove\] for \[changes\[0\]\.action\]: expected \[add\] or \[change\]/,
      ],
    ]
    for (const [name, change, message] of cases)
      test(name, async () => {
        const { plan } = await twoRules()
        const { version: _, id: __, ...contents } = plan
        const changes = [{ action: 'change', ...change }] as unknown as Plan['changes']
        const saved = JSON.parse(JSON.stringify(planOf({ ...contents, changes }))) as unknown
        assert.throws(() => parsePlan(saved, 'plan.json'), { code: 'invalidInput', message })
      })
  })

  describe('refuses a plan with a part that svc does not write, even if its ID matches its contents', () => {
    const expected = 'the path of an entry, such as \\[\\["rules","wikipedia"\\]\\]'
    const rows: [contents: object, line: RegExp][] = [
      ...['notjson', 'null', '[1]', '[]', '["rules"', '{"a":"b"}'].map((key): [object, RegExp] => [
        { read: { [key]: 'x' } },
        new RegExp(`^plan\\.json:9:\\d+: Invalid name \\[.*\\] in \\[read\\]: expected ${expected}$`),
      ]),
      [
        { read: { '["rules","\u001b[31m"]': 'x' } },
        /^plan\.json:9:\d+: Invalid name \[\["rules","\\u001b\[31m"\]\] in \[read\]/,
      ],
      [
        { unusedSegments: { '..': [] } },
        /^plan\.json:\d+:\d+: Invalid name \[\.\.\] in \[unusedSegments\]: expected the name of a datasource$/,
      ],
      [{ unusedSegments: { '\ud800': [] } }, /: Invalid name \[\\ud800\] in \[unusedSegments\]/],
      [{ createdAt: 'yesterday' }, /^plan\.json:\d+:\d+: .*\[yesterday\] for \[createdAt\]/],
      [
        { changes: [{ kind: 'rules', path: ['rules', '\ud800'], action: 'change', after: [] }] },
        /: Invalid value \[rules\.\\ud800\] for \[changes\[0\]\.path\]/,
      ],
    ]
    for (const [contents, line] of rows)
      test(JSON.stringify(contents), () => {
        const plan = planOf({
          cluster: 'http://router',
          createdAt: now.toISOString(),
          changes: [],
          losses: {},
          read: {},
          ...contents,
        } as Parameters<typeof planOf>[0])
        const file = path.join(newFolder(), 'plan.json')
        writeFileSync(file, planText(plan))
        assert.throws(
          () => readPlan(file),
          (error: Error) => {
            assert.match(error.message.replace(/^.*(?=plan\.json:)/, ''), line)
            return true
          },
        )
      })
  })

  test('applies nothing if a permission is missing for one part, and says which', async () => {
    const { cluster, steps } = await twoRules()
    cluster.denied.add('/svc/coordinator/v1/rules/b')
    await assert.rejects(applySteps(context(cluster), firstOf(steps), events), {
      code: 'forbidden',
      message: 'Nothing was applied: the user has no permission to change [rules.b]',
    })
    assert.deepEqual(cluster.written, [])
  })

  test('applies nothing if the user may not override the policy of the cluster, and says which part needs it', async () => {
    const cluster = configuredCluster({ rules: { a: [], _default: [] } })
    const folder = folderOf('coordinator: {maxSegmentsToMove: 5}\nrules: {a: [{type: dropForever}]}\n')
    const { steps } = await makePlan(cluster, await compare(cluster, folder), preview, now)
    cluster.denied.add('/svc/coordinator/v1/rules/a?overridePolicy')
    const overriding = { ...context(cluster), overridesPolicy: true }
    await assert.rejects(applySteps(overriding, firstOf(steps), events), {
      code: 'forbidden',
      message:
        'Nothing was applied: to change [rules.a] with --override-policy, the user needs permission [WRITE] on [CONFIG] [rulesOverride]',
    })
    assert.deepEqual(cluster.written, [])
    await applySteps(context(cluster), firstOf(steps), events)
    assert.equal(cluster.written.length, 2)
  })

  test('stops if someone else changes an entry in the meantime, and says what was applied', async () => {
    const { cluster, steps } = await twoRules()
    const racing = applySteps(context(cluster), firstOf(steps), {
      ...events,
      onApplied: () => {
        cluster.configuration.rules.b = [{ type: 'loadForever' }]
      },
    })
    await assert.rejects(racing, {
      message: /^\[rules\.b\] was changed by someone else in the meantime\. Applied 1 of 3 changes/,
    })
  })

  test('reports what it overwrites in Druid, which has no conditional writes', async () => {
    const text = `rules: {wiki: [{type: dropForever}]}
coordinator: {maxSegmentsToMove: 1, decommissioningNodes: [a]}
compaction: {datasources: {wiki: {skipOffsetFromLatest: P9D}}}`
    const others: Record<string, (cluster: ConfiguredCluster) => Promise<unknown>> = {
      '/svc/coordinator/v1/rules/wiki': (cluster) =>
        cluster.send('POST', '/svc/coordinator/v1/rules/wiki', [
          { type: 'loadForever' },
          { type: 'dropForever' },
        ]),
      // Of the two fields that change, this one is not overwritten.
      '/svc/coordinator/v1/config': (cluster) =>
        cluster.send('POST', '/svc/coordinator/v1/config', {
          maxSegmentsToMove: 1,
          decommissioningNodes: ['b'],
        }),
      '/svc/indexer/v1/compaction/config/datasources/wiki': (cluster) =>
        cluster.send('POST', '/svc/indexer/v1/compaction/config/datasources/wiki', {
          dataSource: 'wiki',
          skipOffsetFromLatest: 'P5D',
        }),
    }
    for (const isSlow of [true, false]) {
      const cluster = configuredCluster({
        rules: { wiki: [{ type: 'loadForever' }], _default: [{ type: 'loadForever' }] },
        compaction: { wiki: { dataSource: 'wiki' } },
      })
      const { steps } = await makePlan(cluster, await compare(cluster, folderOf(text)), preview, now)
      const reads = new Map<string, number>()
      // Others write after the last read, and before the write.
      const druid: ConfiguredCluster = {
        ...cluster,
        interfaceName: 'druid',
        request: async (method, at, ...rest) => {
          const { body } = await cluster.request(method, at, ...rest)
          reads.set(at, (reads.get(at) ?? 0) + 1)
          if (isSlow && reads.get(at) === (at.endsWith('/config') ? 2 : 1)) await others[at]!(cluster)
          return { status: 200, headers: {}, body }
        },
      }
      const overwritten: unknown[] = []
      await applySteps(context(druid), firstOf(steps), {
        ...events,
        onOverwritten: ({ path: at }, value) => overwritten.push([at.join('.'), value]),
      })
      const expected = [
        ['coordinator.decommissioningNodes', ['b']],
        ['compaction.datasources.wiki', { skipOffsetFromLatest: 'P5D' }],
        ['rules.wiki', [{ type: 'loadForever' }, { type: 'dropForever' }]],
      ]
      assert.deepEqual(overwritten.sort(), isSlow ? expected.sort() : [])
      assert.deepEqual(cluster.configuration.rules.wiki, [{ type: 'dropForever' }])
    }
  })

  test('of two at the same time, one wins and the other gets a conflict', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        fc.constantFrom(
          'rules',
          'coordinator',
          'compaction',
          'newCompaction',
          'users',
          'newUsers',
          'newRoles',
          'newMappings',
        ),
        async (scheduler, part) => {
          const cluster = configuredCluster({
            rules: { a: [], b: [] },
            compaction: { a: { dataSource: 'a' } },
            roles: { a: [], b: [], c: [] },
            users: { a: [] },
          })
          const read = (name: string) => `{resource: {type: DATASOURCE, name: ${name}}, action: READ}`
          const planFor = async (text: string) =>
            (await makePlan(cluster, await compare(cluster, folderOf(text)), preview, now)).steps
          const texts: Record<string, (first: boolean) => string> = {
            rules: (first) => {
              const [a, b] = first ? ['loadForever', 'dropForever'] : ['dropForever', 'loadForever']
              return `rules:\n  a: [{type: ${a}}]\n  b: [{type: ${b}}]\n`
            },
            coordinator: (first) => `coordinator: {maxSegmentsToMove: ${first ? 1 : 2}}`,
            compaction: (first) =>
              `compaction: {datasources: {a: {skipOffsetFromLatest: ${first ? 'P3D' : 'P2D'}}}}`,
            newCompaction: (first) =>
              `compaction: {datasources: {a: {}, b: {skipOffsetFromLatest: ${first ? 'P3D' : 'P2D'}}}}`,
            users: (first) => `authorizers: {basic: {users: {a: [${first ? 'a' : 'b'}, c]}}}`,
            newUsers: (first) => `authorizers: {basic: {users: {a: [], new: [${first ? 'a' : 'b'}, c]}}}`,
            newRoles: (first) =>
              `authorizers: {basic: {roles: {a: [], b: [], c: [], new: [${read(first ? 'a' : 'b')}]}}}`,
            newMappings: (first) =>
              `authorizers: {basic: {groupMappings: {new: {groupPattern: "*", roles: [${first ? 'a' : 'b'}]}}}}`,
          }
          const both = [await planFor(texts[part]!(true)), await planFor(texts[part]!(false))]
          const slow = {
            ...cluster,
            send: scheduler.scheduleFunction(cluster.send),
            request: scheduler.scheduleFunction(cluster.request),
          }
          const applied = Promise.allSettled(
            both.map((steps) => applySteps(context(slow), firstOf(steps), events)),
          )
          await scheduler.waitFor(applied)
          const outcomes = await applied
          const [won] = outcomes.flatMap(({ status }, index) => (status === 'fulfilled' ? [index] : []))
          assert.deepEqual(outcomes.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
          const lost = outcomes.find((outcome) => outcome.status === 'rejected')!
          assert.equal((lost.reason as Failure).code, 'forbidden', String(lost.reason))
          const { changes } = await compare(cluster, folderOf(texts[part]!(won === 0)))
          assert.deepEqual(changes, [])
        },
      ),
      { numRuns: 120 },
    )
  })

  test('gives new users their passwords, which are never a difference', async () => {
    const cluster = configuredCluster({ roles: { reader: [] }, logins: { bob: 'old', carol: null } })
    const folder = newFolder()
    writeFileSync(path.join(folder, 'secret'), 'from-file\n')
    writeFileSync(
      path.join(folder, 'security.yaml'),
      `authenticators:
  basic:
    users:
      alice: {password: {file: secret}}
      bob: {password: {environment: NOT_SET}}
      carol: {password: {environment: PASSWORD}}
authorizers:
  basic:
    users: {alice: [reader]}
`,
    )
    const plan = await apply(cluster, folder)
    assert.deepEqual(cluster.configuration.logins, { bob: 'old', carol: 'from-env', alice: 'from-file' })
    assert.deepEqual(cluster.configuration.users, { alice: ['reader'] })
    assert.ok(!JSON.stringify(plan).includes('from-file'))
    assert.deepEqual((await compare(cluster, folder)).changes, [])
  })

  test('names the place of a password that is missing or invalid', async () => {
    const folder = folderOf(
      'authenticators:\n  basic:\n    users:\n      new: {password: {environment: NEW}}\n      old: {password: {file: none.txt}}\n',
    )
    const files = readDeclaredFiles(folder)
    const { changes } = await compareFiles(configuredCluster({ logins: {} }), files, {
      parts: [],
      create: true,
    })
    const rows: [name: string, environment: Record<string, string>, expected: RegExp][] = [
      ['new', {}, /^.*\.yaml:4:13: Missing password for \[authenticators\.basic\.users\.new\]: /],
      ['new', { NEW: 'x' }, /^.*\.yaml:4:13: Invalid password for \[authenticators\.basic\.users\.new\] in /],
      [
        'old',
        {},
        /^.*\.yaml:5:13: Failed to read the password for \[authenticators\.basic\.users\.old\] in /,
      ],
    ]
    for (const [name, environment, message] of rows) {
      const steps = [
        { phase: 'access' as const, changes: changes.filter(({ path: at }) => at.at(-1) === name) },
      ]
      assert.throws(() => readPasswords(steps, environment, 5, (change) => placeOfPassword(files, change)), {
        message,
      })
    }
  })

  test('refuses a missing password before anything is applied', async () => {
    const cluster = configuredCluster()
    const folder = newFolder()
    writeFileSync(
      path.join(folder, 'security.yaml'),
      'authenticators:\n  basic:\n    users:\n      alice: {password: {environment: NOT_SET}}\n',
    )
    await assert.rejects(
      apply(cluster, folder),
      /Missing password for \[authenticators\.basic\.users\.alice\]/,
    )
    assert.deepEqual(cluster.written, [])
  })
})

describe('plan', () => {
  const message = async (cluster: ConfiguredCluster, text: string, create = false): Promise<string> => {
    const folder = folderOf(text)
    const compared = async () => await compareFiles(cluster, readDeclaredFiles(folder), { parts: [], create })
    return await compared().then(
      () => '',
      (error: Error) => error.message.replaceAll(`${folder}/`, ''),
    )
  }

  test('accepts a value that svc cannot read only if the cluster has exactly this value', async () => {
    const strange = { type: 'loadByMoon', phase: 1 }
    const cluster = configuredCluster({ rules: { wiki: [strange] } })
    assert.equal(await message(cluster, 'rules:\n  wiki: [{type: loadByMoon, phase: 1}]'), '')
    assert.match(
      await message(cluster, 'rules:\n  wiki: [{type: loadByMoon, phase: 2}]'),
      /^state\.yaml:2:17: Invalid value \[loadByMoon\] for \[rules\.wiki\[0\]\.type\]/,
    )
  })

  test('refuses datasources and authorizers that do not exist, with their positions', async () => {
    const cluster = configuredCluster({ rules: { wikipedia: [{ type: 'loadForever' }] } })
    const text = 'rules:\n  wikipedia: [{type: loadForever}]\n  wikipdia: [{type: dropForever}]\n'
    assert.equal(
      await message(cluster, text),
      'state.yaml:3:3: Unknown datasource [wikipdia]: it has neither segments nor rules. Similar names: [wikipedia]. To plan for data that will arrive later, add --create.',
    )
    assert.equal(await message(cluster, text, true), '')
    assert.equal(
      await message(cluster, 'authorizers:\n  other:\n    roles: {}'),
      'state.yaml:3:5: Unknown name [other] in [authorizers]: expected one of [basic]',
    )
  })

  test('reports a datasource with an invalid name only once', async () => {
    const cluster = configuredCluster({ rules: {} })
    const files = readDeclaredFiles(folderOf('rules:\n  "a\\e[2J": []\n'))
    const compared = compareFiles(cluster, files, { parts: [], create: false })
    await assert.rejects(compared, { message: /^.*:2:3: Invalid value \[a\\u001b\[2J\] for .*$/ })
  })

  test('--target plans only these parts, and refuses one that does not exist', async () => {
    const cluster = configuredCluster()
    const folder = folderOf('rules:\n  a.b: [{type: dropForever}]\ncoordinator:\n  maxSegmentsToMove: 5\n')
    const changesOf = async (part: string) =>
      (await compareFiles(cluster, readDeclaredFiles(folder), { parts: [part], create: true })).changes.map(
        (one) => one.path,
      )
    assert.deepEqual(await changesOf('rules.a.b'), [['rules', 'a.b']])
    assert.deepEqual(await changesOf('coordinator'), [['coordinator', 'maxSegmentsToMove']])
    // A dot in a name is not the end of another name.
    await assert.rejects(changesOf('rules.a'), /Invalid value \[rules\.a\] for \[--target\]/)
    await assert.rejects(changesOf('rules.c'), /Invalid value \[rules\.c\] for \[--target\]/)
    cluster.configuration.coordinator.maxSegmentsToMove = 5
    assert.deepEqual(await changesOf('coordinator.maxSegmentsToMove'), [])
  })

  test('--target does not include other datasources whose names continue with a dot', async () => {
    const cluster = configuredCluster({ rules: { a: [], 'a.b': [{ type: 'loadForever' }] } })
    const folder = folderOf('rules:\n  a: [{type: loadForever}]\n  a.b: [{type: loadByMoon}]\n')
    const options = { parts: ['rules.a'], create: true }
    const { changes } = await compareFiles(cluster, readDeclaredFiles(folder), options)
    assert.deepEqual(
      changes.map((one) => one.path),
      [['rules', 'a']],
    )
  })

  test('refuses invalid users, even those that the cluster already has', async () => {
    const cluster = configuredCluster({ logins: { bob: 'secret' } })
    const users = (bob: string) => `authenticators:\n  basic:\n    users:\n      bob: ${bob}\n`
    assert.equal(await message(cluster, users('{}')), '')
    assert.equal(
      await message(cluster, users('{password: in-the-file}')),
      'state.yaml:4:23: Invalid value for [authenticators.basic.users.bob.password]: expected an object with [file] or [environment]; YAML files never contain passwords',
    )
    assert.equal(
      await message(cluster, users('in-the-file')),
      'state.yaml:4:12: Invalid value for [authenticators.basic.users.bob]: expected an object with an optional [password]',
    )
    assert.equal(
      await message(cluster, users('{pasword: {environment: BOB}}')),
      'state.yaml:4:13: Unknown field [authenticators.basic.users.bob.pasword]: expected one of [password]',
    )
  })

  test('shows changes as a difference, in every format', async () => {
    const cluster = configuredCluster({
      rules: {
        wiki: [{ type: 'loadByPeriod', period: 'P1M', includeFuture: true }],
        _default: [{ type: 'loadForever' }],
      },
    })
    const folder = folderOf(
      'rules:\n  wiki: [{type: loadByPeriod, period: P1M}, {type: dropForever}]\n  "<b>`": [{type: dropForever}]\ncoordinator:\n  maxSegmentsToMove: 5\n',
    )
    const { plan, warnings } = await makePlan(cluster, await compare(cluster, folder), preview, now)
    const report = planReport(plan, warnings, undefined)
    assert.deepEqual(diffText(report.blocks), [
      'rules.wiki',
      '    {"type":"loadByPeriod","period":"P1M","tieredReplicants":{"_default_tier":2}}',
      '  + {"type":"dropForever"}',
      'rules.<b>`',
      '  + {"type":"dropForever"}',
      'coordinator',
      '  - maxSegmentsToMove: 100',
      '  + maxSegmentsToMove: 5',
    ])
    assert.equal(report.summary, '3 changes: 1 to add, 2 to change.')
    assert.match(planMarkdown(report), /```diff\n# rules\.wiki\n {2}\{"type"/)
    const html = planHtml(report)
    assert.ok(html.includes('<h2>rules.&lt;b&gt;`</h2>') && !html.includes('<b>`'))
  })

  test('can remove rules of a Druid cluster under a name that svc refuses', async () => {
    const cluster = configuredCluster({ rules: { 'a\u001b[31m': [{ type: 'dropForever' }], b: [] } })
    const bodies: object[] = []
    const noting: PreviewRules = async (body) => {
      bodies.push(body)
      return await preview(body)
    }
    const planned = async (text: string) =>
      await makePlan(cluster, await compare(cluster, folderOf(text)), noting, now)
    await planned('rules: {}')
    const { steps } = await planned('rules: {b: [{type: loadForever}]}')
    assert.deepEqual(bodies, [{ rules: { b: [{ type: 'loadForever' }] } }])
    await applySteps({ client: cluster, headers: {}, passwordOf: () => undefined }, firstOf(steps), events)
    assert.deepEqual(cluster.configuration.rules['a\u001b[31m'], [])
  })

  test('escapes control characters in values of a Druid cluster', async () => {
    const strange = { type: 'loadForever', tieredReplicants: { 'a\u009b31m\u202e': 1 } }
    const cluster = configuredCluster({ rules: { wiki: [strange] } })
    const { plan } = await makePlan(
      cluster,
      await compare(cluster, folderOf('rules: {wiki: []}')),
      preview,
      now,
    )
    const report = planReport(plan, ['Tier [a\u009b31m\u202e] is full'], undefined)
    for (const text of [diffText(report.blocks).join('\n'), planMarkdown(report), planHtml(report)]) {
      assert.match(text, /a\\u009b31m\\u202e/)
      assert.doesNotMatch(text, /[\u009b\u202e]/)
    }
  })

  test('shows only differences in meaning', async () => {
    const before = { type: 'loadByInterval', interval: '2001-02-01T00:00:00.000Z/2001-03-01T00:00:00.000Z' }
    const cluster = configuredCluster({ rules: { wiki: [before] } })
    const folder = folderOf(
      'rules:\n  wiki: [{type: loadByInterval, interval: 2001-02-01/2001-03-01}, {type: dropForever}]\n',
    )
    const { plan } = await makePlan(cluster, await compare(cluster, folder), preview, now)
    assert.deepEqual(
      planReport(plan, [], undefined).blocks[0]?.lines.map(({ kind }) => kind),
      ['same', 'added'],
    )
  })

  test('the same files and cluster produce the same plan', async () => {
    const cluster = configuredCluster()
    const folder = folderOf('coordinator:\n  maxSegmentsToMove: 5\n')
    const make = async () => (await makePlan(cluster, await compare(cluster, folder), preview, now)).plan
    assert.equal(canonicalJson(await make()), canonicalJson(await make()))
  })
})
