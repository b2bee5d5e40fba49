// What a plan shows is what apply does, in real processes: files are pulled, edited, planned, and applied, over the paths of
// svc and over those of Druid.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { buffer } from 'node:stream/consumers'
import { after, before, describe, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { repositoryRoot } from '@svc/cli/home'
import type { Loss } from '@svc/domain/saved-plan'
import { createHttpClient, waitUntil } from '@svc/shared/testing'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { parse } from 'yaml'
import { flights, flightsTask, runTask } from './support/flights.ts'
import { runSvc, svcCommand } from './support/svc-command.ts'
import { startTestCluster } from './support/test-cluster.ts'
import { newTestFolder } from './support/test-folder.ts'
import { untilLoaded } from './support/until-loaded.ts'

const folder = newTestFolder()
// No other test loads rules without replicas.
const clusterPolicy = path.join(folder, 'cluster-policy.yaml')
writeFileSync(clusterPolicy, 'minReplicas: 1\n')
process.env.XDG_STATE_HOME = path.join(folder, 'record')

const cluster = await startTestCluster({
  profile: 'secure',
  historicals: 'hot=1,_default_tier=1',
  set: [
    'svc.api.aliases=["druid"]',
    'coordinator.svc.coordinator.period=PT0.5S',
    `coordinator.svc.coordinator.rules.policy=${clusterPolicy}`,
  ],
})
after(() => cluster.end())
const { router, home } = cluster
const state = path.join(folder, 'state')
const planFile = path.join(folder, 'plan.json')

/** A router that has only the paths of Druid. */
const relay = createServer(async (request, response) => {
  const { method = 'GET', url = '/' } = request
  const body = await buffer(request)
  if (!/^(\/proxy\/coordinator)?\/druid/.test(url)) {
    response.writeHead(404).end()
    return
  }
  const client = createHttpClient(cluster.urls.router!, { trusted: cluster.trusted })
  const headers = Object.entries(request.headers).filter(([name]) =>
    /^(authorization|content-type|x-)/.test(name),
  )
  const answer = await client.send({
    method,
    path: url,
    headers: Object.fromEntries(headers) as Record<string, string>,
    ...(body.length > 0 ? { text: body } : {}),
  })
  const type = String(answer.headers['content-type'] ?? 'text/plain')
  response.writeHead(answer.status, { 'content-type': type }).end(answer.text)
  client.close()
})
after(() => {
  relay.closeAllConnections()
  relay.close()
})
let druid: string[] = []

const svc = (command: string, ...args: string[]) => runSvc(command, ...args, '--home', home.root)

const rulesFile = path.join(state, 'team-rules.yaml')
const edit = (file: string, change: (text: string) => string): void =>
  writeFileSync(path.join(state, file), change(readFileSync(path.join(state, file), 'utf8')))

const newRules = `rules:
  # Two months.
  flights:
    - type: loadByInterval
      interval: 2001-03-01/2001-04-01
      tieredReplicants:
        hot: 1
    - type: loadByInterval
      interval: 2001-02-01/2001-03-01
      tieredReplicants:
        _default_tier: 1
    - type: dropForever
`
const otherChanges = (authenticator: string, authorizer: string) => `compaction:
  datasources:
    flights: {skipOffsetFromLatest: P30D}
authenticators:
  ${authenticator}:
    users:
      rita: {password: {environment: RITA_PASSWORD}}
authorizers:
  ${authorizer}:
    roles:
      reader:
        - {resource: {type: DATASOURCE, name: ".*"}, action: READ}
        - {resource: {type: STATE, name: STATE}, action: READ}
        - {resource: {type: CONFIG, name: CONFIG}, action: READ}
    users:
      rita: [reader]
`

interface Plan {
  readonly id: string
  readonly changes: { readonly path: string[]; readonly action: string }[]
  readonly losses: Record<string, Loss>
  readonly steps: { readonly phase: string; readonly entries: string[][] }[]
  readonly preview: {
    readonly summary: { readonly effects: Record<string, { segments: number }>; readonly datasources: object }
  } | null
}

before(async () => {
  relay.listen(0, '127.0.0.1')
  await once(relay, 'listening')
  const passwordFile = path.join(folder, 'admin-password')
  writeFileSync(passwordFile, cluster.adminPassword!)
  const url = `http://127.0.0.1:${(relay.address() as AddressInfo).port}`
  druid = ['--url', url, '--user', 'admin', '--password-file', passwordFile]
  await runTask(router, flightsTask())
  await router.post('/svc/coordinator/v1/rules/_default', [
    { type: 'loadForever', tieredReplicants: { _default_tier: 1 } },
  ])
  await untilLoaded(router)
})

describe('pull', () => {
  test('writes files that a plan accepts without changes, and that the schema describes', async () => {
    const pulled = await svc('pull', state)
    assert.equal(pulled.status, 0, pulled.stderr)
    const files = ['compaction.yaml', 'coordinator.yaml', 'rules.yaml', 'security.yaml']
    assert.deepEqual(readdirSync(state).sort(), [...files, 'state.schema.json'])
    const planned = await svc('plan', state)
    assert.equal(planned.status, 0, planned.stderr)
    assert.match(planned.stdout, /^Plan \S+ for \S+:\nNo changes\.\n$/)
    const schema = JSON.parse(
      readFileSync(path.join(repositoryRoot, 'docs/state.schema.json'), 'utf8'),
    ) as object
    const validate = new Ajv2020({ strict: false, allErrors: true }).compile(schema)
    for (const file of files) {
      const text = readFileSync(path.join(state, file), 'utf8')
      assert.match(text, /^# yaml-language-server: \$schema=\.\/state\.schema\.json\n/)
      assert.ok(validate(parse(text)), `${file}: ${JSON.stringify(validate.errors)}`)
    }
    assert.ok(!validate({ ruls: {} }))
  })

  test('over the paths of Druid, writes the same files', async () => {
    const other = path.join(folder, 'druid')
    const pulled = await runSvc('pull', other, ...druid)
    assert.equal(pulled.status, 0, pulled.stderr)
    for (const file of readdirSync(state))
      assert.equal(readFileSync(path.join(other, file), 'utf8'), readFileSync(path.join(state, file), 'utf8'))
  })
})

describe('plan and apply', () => {
  test('a plan shows all changes and what they do, and saves them', async () => {
    writeFileSync(rulesFile, newRules)
    const security = parse(readFileSync(path.join(state, 'security.yaml'), 'utf8')) as Record<string, object>
    const [authenticator, authorizer] = ['authenticators', 'authorizers'].map(
      (kind) => Object.keys(security[kind]!)[0]!,
    )
    writeFileSync(path.join(state, 'others.yaml'), otherChanges(authenticator!, authorizer!))
    edit('coordinator.yaml', (text) => text.replace(/maxSegmentsToMove: \d+/, 'maxSegmentsToMove: 7'))
    process.env.RITA_PASSWORD = 'rita-password'
    const html = path.join(folder, 'plan.html')
    const { status, stdout, stderr } = await svc('plan', state, '--json', '--out', planFile, '--html', html)
    assert.equal(status, 5, stderr)
    const plan = JSON.parse(stdout) as Plan
    assert.deepEqual(plan.changes.map(({ path: at }) => at.at(-1)).sort(), [
      'flights',
      'flights',
      'maxSegmentsToMove',
      'reader',
      'rita',
      'rita',
    ])
    const { unqueryableBytes, unusedBytes, ...lost } = plan.losses[flights.dataSource]!
    assert.deepEqual(lost, { unqueryable: 31, unused: 31 })
    assert.ok(unusedBytes > 0 && unusedBytes === unqueryableBytes, JSON.stringify(plan.losses))
    assert.deepEqual(
      plan.steps.map(({ phase }) => phase),
      ['access', 'configuration', 'losses'],
    )
    assert.match(
      readFileSync(html, 'utf8'),
      /<ins>\+ \{&quot;type&quot;:&quot;dropForever&quot;\}<\/ins>|dropForever/,
    )
    const markdown = await svc('plan', state, '--markdown')
    assert.match(markdown.stdout, /31 segments[\s\S]*\+ \{"type":"dropForever"\}/)
  })

  test('over the paths of Druid, the preview is the same, although it is computed here', async () => {
    const [here, there] = await Promise.all([
      svc('plan', state, '--json'),
      runSvc('plan', state, '--json', ...druid),
    ])
    assert.equal(there.status, 5, there.stderr)
    const [ofSvc, ofDruid] = [here, there].map(({ stdout }) => (JSON.parse(stdout) as Plan).preview!.summary)
    assert.deepEqual(ofDruid!.effects, ofSvc!.effects)
    assert.deepEqual(ofDruid!.datasources, ofSvc!.datasources)
  })

  test('without a terminal or --yes, nothing is applied', async () => {
    const { status, stderr } = await svc('apply', planFile)
    assert.equal(status, 2)
    assert.match(stderr, /add --yes/)
  })

  test('applying the saved plan reaches the state that it shows, and a plan then has no changes', async () => {
    const applied = await svc('apply', planFile, '--yes', '--author', 'ci', '--comment', 'two months')
    assert.equal(applied.status, 0, applied.stderr)
    // It shows what is lost now, before it applies anything.
    assert.match(
      applied.stdout,
      /^Plan \w+ for [\s\S]*\n31 segments [\s\S]*\nApplied plan \[\w+\]: 6 of 6 changes\.\n$/,
    )
    const expected = [
      ['_default_tier', 28],
      ['hot', 31],
    ]
    // The plan also starts compaction: until servers have dropped a segment that it has replaced, they serve one more.
    await waitUntil(
      'the tiers serve what the rules require',
      () =>
        router.post('/svc/v2/sql', {
          query:
            'SELECT tier, count(*) FROM sys.server_segments JOIN sys.servers USING (server) GROUP BY tier ORDER BY tier',
          resultFormat: 'array',
        }),
      ({ json }) => isDeepStrictEqual(json, expected),
    )
    const planned = await svc('plan', state)
    assert.equal(planned.status, 0, planned.stdout)
    const { id } = JSON.parse(readFileSync(planFile, 'utf8')) as Plan
    const [entry] = await router.get<{ auditInfo: { author: string; comment: string } }[]>(
      `/svc/coordinator/v1/rules/${flights.dataSource}/history?count=1`,
    )
    assert.equal(entry?.auditInfo.author, 'ci')
    assert.equal(entry?.auditInfo.comment, `two months (plan ${id})`)
  })

  test('applying it again changes nothing', async () => {
    for (const target of [planFile, state]) {
      const { status, stdout } = await svc('apply', target, '--yes')
      assert.equal(status, 0)
      assert.match(stdout, /0 of 6 changes|already has this configuration/)
    }
  })

  test('a user without permission is refused before anything is applied', async () => {
    edit('team-rules.yaml', (text) => text.replace('hot: 1', 'hot: 2'))
    const rita = ['--user', 'rita:rita-password']
    await waitUntil(
      'all servers know the new user',
      () => svc('plan', rulesFile, ...rita),
      ({ status }) => status === 5,
    )
    const refused = await svc('apply', rulesFile, '--yes', ...rita)
    assert.equal(refused.status, 4, refused.stderr)
    assert.match(
      refused.stderr,
      /Nothing was applied: the user has no permission to change \[rules\.flights\]/,
    )
    const unseen = await svc('plan', state, ...rita)
    assert.equal(unseen.status, 4)
    assert.match(unseen.stderr, /security\.yaml:\d+:\d+: No access: /)
  })

  test('drift shows what others changed, and a plan from before is refused', async () => {
    const saved = await svc('plan', rulesFile, '--out', planFile)
    assert.equal(saved.status, 5)
    const changed = [{ type: 'loadForever', tieredReplicants: { hot: 1 }, useDefaultTierForNull: true }]
    await router.post(`/svc/coordinator/v1/rules/${flights.dataSource}`, changed)
    const drifted = await svc('drift', rulesFile)
    assert.equal(drifted.status, 5)
    assert.match(
      drifted.stdout,
      /^rules\.flights\n {2}- \{"type":"loadForever","tieredReplicants":\{"hot":1\}\}\n/,
    )
    const refused = await svc('apply', planFile, '--yes')
    assert.equal(refused.status, 4)
    assert.match(
      refused.stderr,
      /Parts of the configuration were changed after plan \[\w+\] was created: \[rules\.flights\]/,
    )
  })

  test('over the paths of Druid, apply waits until replicas are loaded', async () => {
    edit('team-rules.yaml', (text) => text.replace('hot: 2', '_default_tier: 1'))
    const applied = await runSvc('apply', rulesFile, '--yes', '--author', 'ci', ...druid)
    assert.equal(applied.status, 0, applied.stderr)
    const drifted = await runSvc('drift', state, ...druid)
    assert.equal(drifted.status, 0, drifted.stdout)
    const [entry] = await router.get<{ auditInfo: { author: string } }[]>(
      `/svc/coordinator/v1/rules/${flights.dataSource}/history?count=1`,
    )
    assert.equal(entry?.auditInfo.author, 'ci')
  })

  test('a plan may be made with a horizon, prices, and a policy', async () => {
    const file = path.join(folder, 'priced.yaml')
    writeFileSync(
      file,
      'prices: {currency: EUR, perGibMonth: {_default_tier: 1000000}}\nrules:\n  flights: [{type: dropForever}]\n  _default: [{type: loadForever, tieredReplicants: {_default_tier: 1}}]\n',
    )
    const policy = path.join(folder, 'policy.yaml')
    writeFileSync(policy, '# At most half.\nmaxUnusedPercent: 50\n')
    const args = [file, '--policy', policy]
    const planned = await svc('plan', ...args, '--horizon', 'P1Y', '--markdown', '--fail-on', 'unused')
    assert.equal(planned.status, 4, planned.stderr)
    assert.match(planned.stderr, /Failed because of --fail-on: \[unused\] \(59 segments/)
    assert.match(planned.stdout, /EUR per month before \| after \| change \| on \d{4}-\d\d-\d\d/)
    assert.match(planned.stderr, /Policy violation: Datasource \[flights\]: 59 segments .* which is 100\.0%/)
    const refused = await svc('apply', ...args, '--yes')
    assert.equal(refused.status, 4)
    assert.match(refused.stderr, /forbids this plan, so nothing was applied/)
    writeFileSync(policy, 'maxUnusedPercent: 50\nmaxUnusedByte: 1\n')
    const invalid = await svc('plan', ...args)
    assert.equal(invalid.status, 2)
    assert.match(invalid.stderr, /policy\.yaml:2:16: Unknown field \[maxUnusedByte\]/)
  })

  test('a typo in a datasource is shown with its position', async () => {
    edit('team-rules.yaml', (text) => `${text}  flihgts:\n    - type: dropForever\n`)
    const { status, stderr } = await svc('plan', state)
    assert.equal(status, 2)
    assert.match(
      stderr,
      /team-rules\.yaml:\d+:3: Unknown datasource \[flihgts\]: .*Similar names: \[flights\]/,
    )
  })
})

describe('apply', () => {
  const load = (...tiers: string[]) =>
    `[{type: loadForever, tieredReplicants: {${tiers.map((tier) => `${tier}: 1`).join(', ')}}}]`
  const drop =
    '[{type: loadByInterval, interval: 2001-03-01/2001-04-01, tieredReplicants: {hot: 1}}, {type: dropForever}]'
  const fileOf = (name: string, text: string): string => {
    const file = path.join(folder, name)
    writeFileSync(file, text)
    return file
  }
  const rulesOf = async () =>
    (await router.get<object[]>(`/svc/coordinator/v1/rules/${flights.dataSource}`)).length
  const usedSegments = async (): Promise<string[]> => {
    const path = `/svc/coordinator/v1/metadata/datasources/${flights.dataSource}/segments`
    return (await router.get<string[]>(path)).toSorted()
  }

  /** Applies something, and kills the command when its output matches. Returns its status; null if it was killed. */
  async function applyAndKill(pattern: RegExp, target: string, ...options: string[]): Promise<number | null> {
    const args = ['apply', target, '--yes', ...options, '--home', home.root]
    const child = spawn(svcCommand, args, { detached: true, stdio: ['ignore', 'ignore', 'pipe'] })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      if (pattern.test(text)) process.kill(-child.pid!, 'SIGKILL')
    })
    const [status] = (await once(child, 'close')) as [number | null]
    return status
  }

  test('after SIGKILL at every step, running it again ends in the planned state', async () => {
    const file = fileOf(
      'many.yaml',
      `rules:
  flights: ${load('hot', '_default_tier')}
  a: ${load('hot')}
  b: ${load('hot')}
  _default: ${load('_default_tier')}
coordinator: {maxSegmentsToMove: 9}
compaction: {datasources: {a: {skipOffsetFromLatest: P9D}}}
`,
    )
    assert.equal(
      (await svc('plan', file, '--create', '--out', planFile, '--target', 'rules', '--target', 'coordinator'))
        .status,
      5,
    )
    let kills = 0
    while ((await applyAndKill(/^\[1\//m, planFile, '--no-wait')) === null) {
      kills += 1
      assert.ok(kills < 20)
    }
    assert.ok(kills >= 2, String(kills))
    const again = await svc('apply', planFile, '--yes')
    assert.match(again.stdout, /0 of 4 changes/)
    assert.equal((await svc('drift', file, '--target', 'rules')).status, 0)
  })

  const pause = (isPaused: boolean) =>
    router.post('/svc/coordinator/v1/config', { pauseCoordination: isPaused })

  describe('after SIGKILL in a wait', () => {
    const rulesWith = (flightsRules: string, otherRules: string): string =>
      `rules:\n  flights: ${flightsRules}\n  other: ${otherRules}\n  _default: ${load('_default_tier')}\n`
    before(async () => {
      await stopCompaction()
      await runTask(router, flightsTask({ dataSource: 'other', segmentGranularity: 'MONTH' }))
    })
    after(() => pause(false))

    for (const isSaved of [true, false]) {
      test(`applying ${isSaved ? 'a saved plan' : 'files'} again waits again`, async () => {
        const base = fileOf('base.yaml', rulesWith(load('_default_tier'), load('_default_tier')))
        assert.equal((await svc('apply', base, '--yes')).status, 0)
        const file = fileOf('waits.yaml', rulesWith(load('hot', '_default_tier'), load('hot')))
        assert.equal((await svc('plan', file, '--out', planFile)).status, 5)
        const target = isSaved ? planFile : file
        const withTimeout = () => svc('apply', target, '--yes', '--timeout', '1')
        await pause(true)
        assert.equal(await applyAndKill(/^Waiting: /m, target), null)
        const between = await withTimeout()
        assert.equal(between.status, 6, between.stderr)
        assert.doesNotMatch(between.stderr, /^\[.*rules\.other$/m)
        assert.equal((await svc('drift', file, '--target', 'rules.other')).status, 5)
        await pause(false)
        assert.equal(await applyAndKill(/^\[1\/1\] rules\.other$/m, target), null)
        await pause(true)
        const afterwards = await withTimeout()
        assert.equal(afterwards.status, 6, afterwards.stderr)
        await pause(false)
        const done = await svc('apply', target, '--yes')
        assert.equal(done.status, 0, done.stderr)
        // Also with files, this continues the interrupted plan, so that its ID reverts all changes.
        assert.match(done.stdout, /0 of 2 changes/)
        assert.doesNotMatch(done.stderr, /was interrupted/)
      })
    }

    test('other files say that they do not continue the interrupted plan', async () => {
      const file = fileOf('killed.yaml', rulesWith(load('hot'), load('hot', '_default_tier')))
      await pause(true)
      assert.equal(await applyAndKill(/^Waiting: /m, file), null)
      await pause(false)
      const other = fileOf('other.yaml', rulesWith(load('hot', '_default_tier'), load('hot')))
      const { status, stderr } = await svc('apply', other, '--yes')
      assert.equal(status, 0, stderr)
      assert.match(stderr, /^svc: Notice: Plan [0-9a-f]+ was interrupted, and this is a new plan/m)
    })
  })

  test('of two at the same time, one wins and the other gets a conflict', async () => {
    const plans = await Promise.all(
      ['hot', '_default_tier'].map(async (tier) => {
        const out = path.join(folder, `${tier}.json`)
        await svc('plan', fileOf(`${tier}.yaml`, `rules:\n  flights: ${load(tier)}\n`), '--out', out)
        return out
      }),
    )
    const applied = await Promise.all(plans.map((plan) => svc('apply', plan, '--yes', '--no-wait')))
    assert.deepEqual(applied.map(({ status }) => status).sort(), [0, 4], JSON.stringify(applied))
    const won = applied[0]!.status === 0 ? 'hot' : '_default_tier'
    assert.equal((await svc('drift', path.join(folder, `${won}.yaml`))).status, 0)
  })

  test('if two users add compaction to the same datasource, one gets a conflict', async () => {
    const add = async (skipOffsetFromLatest: string) =>
      await router.send({
        method: 'POST',
        path: '/svc/indexer/v1/compaction/config/datasources/added',
        json: { dataSource: 'added', skipOffsetFromLatest },
        headers: { 'If-None-Match': '*' },
      })
    const answers = await Promise.all([add('P1D'), add('P2D')])
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409])
    const { text } = answers.find(({ status }) => status === 409)!
    assert.match(text, /Another request has added a compaction configuration of \[added\] in the meantime/)
  })

  test('the coordinator refuses what its policy forbids, unless a user who may do so overrides it', async () => {
    const file = fileOf('none.yaml', 'rules:\n  flights: [{type: loadForever, tieredReplicants: {}}]\n')
    const planned = await svc('plan', file, '--target', 'rules.flights')
    assert.equal(planned.status, 4, planned.stderr)
    assert.match(
      planned.stdout + planned.stderr,
      /The policy of the cluster forbids this change\. Datasource \[flights\]: rule \[0\] \[loadForever\] must load/,
    )
    const args = ['apply', file, '--target', 'rules.flights', '--yes', '--no-wait']
    const refused = await svc(...(args as [string]))
    assert.equal(refused.status, 4, refused.stderr)
    assert.match(
      refused.stderr,
      /The policy of the cluster forbids this change\. Datasource \[flights\]: rule \[0\] \[loadForever\] must load at least 1 replica, not 0 \(\[minReplicas\]\), so nothing was applied\. To change the rules anyway, add --override-policy, which requires/,
    )
    const overridden = await svc(...(args as [string]), '--override-policy')
    assert.equal(overridden.status, 0, overridden.stderr)
    const [entry] = await router.get<{ auditInfo: { comment: string } }[]>(
      `/svc/coordinator/v1/rules/${flights.dataSource}/history?count=1`,
    )
    assert.match(
      entry!.auditInfo.comment,
      /\(plan \w+\) \(overrides the policy: Datasource \[flights\]: rule/,
    )
  })

  // Compaction would replace segments while a plan is applied and reverted.
  const stopCompaction = async (): Promise<void> => {
    const remove = { method: 'DELETE', path: `/svc/coordinator/v1/config/compaction/${flights.dataSource}` }
    assert.ok([200, 404].includes((await router.send(remove)).status))
    await waitUntil(
      'no task is left',
      async () => [
        ...(await router.get<unknown[]>('/svc/indexer/v1/pendingTasks')),
        ...(await router.get<unknown[]>('/svc/indexer/v1/runningTasks')),
      ],
      ({ length }) => length === 0,
    )
  }

  for (const [name, connection] of [
    ['svc', () => ['--home', home.root]],
    ['Druid', () => druid],
  ] as const) {
    test(`over the paths of ${name}, a plan that lost data is reverted, with the data`, async () => {
      await stopCompaction()
      const before = fileOf('before.yaml', `rules:\n  flights: ${load('_default_tier')}\n`)
      const target = ['--target', 'rules.flights', '--yes', ...connection()]
      const prepared = await runSvc('apply', before, ...target)
      assert.equal(prepared.status, 0, prepared.stderr)
      const [rules, used] = [await rulesOf(), await usedSegments()]
      const applied = await runSvc('apply', fileOf('lossy.yaml', `rules:\n  flights: ${drop}\n`), ...target)
      assert.equal(applied.status, 0, applied.stderr)
      const id = /Applied plan \[(\w+)\]/.exec(applied.stdout)![1]!
      assert.ok((await usedSegments()).length < used.length)
      assert.notEqual(await rulesOf(), rules)
      const reverted = await runSvc('apply', '--revert', id, '--yes', ...connection())
      assert.equal(reverted.status, 0, reverted.stderr)
      assert.match(reverted.stdout, /1 of 1 changes\.\nMarked \d+ segments as used\.\n$/)
      assert.equal(await rulesOf(), rules)
      await waitUntil('all segments are used again', usedSegments, (present) =>
        isDeepStrictEqual(present, used),
      )
      assert.equal((await svc('drift', before, '--target', 'rules.flights')).status, 0)
      const again = await runSvc('apply', '--revert', id, '--yes', ...connection())
      assert.equal(again.status, 0, again.stderr)
    })

    test(`over the paths of ${name}, rules that are already applied count when the rest is planned again`, async () => {
      const rulesWith = (own: string, others: string, defaults: string): string =>
        fileOf('defaults.yaml', `rules:\n  flights: ${own}\n  other: ${others}\n  _default: ${defaults}\n`)
      const [cold, hot] = [load('_default_tier'), load('hot')]
      const apply = async (file: string) => await runSvc('apply', file, '--yes', ...connection())
      const prepared = await apply(rulesWith('[]', cold, cold))
      assert.equal(prepared.status, 0, prepared.stderr)
      // With its old rules, flights would lose everything. The other datasource moves, so the defaults follow after a wait.
      const applied = await apply(rulesWith(cold, hot, '[{type: dropForever}]'))
      assert.equal(applied.status, 0, applied.stderr)
      assert.match(applied.stderr, /rules\.flights\n(Waiting.*\n)*\[2\/3\]/)
      const restored = await apply(rulesWith('[]', cold, cold))
      assert.equal(restored.status, 0, restored.stderr)
    })
  }
})

describe('the GitHub Action', () => {
  interface Comment {
    readonly id: number
    body: string
    readonly user: { readonly login: string; readonly type: 'User' | 'Bot' }
  }
  const comments: Comment[] = Array.from({ length: 100 }, (_, id) => ({
    id,
    body: 'by a person',
    user: { login: 'a-person', type: 'User' },
  }))
  const calls: string[] = []
  let isReadOnly = false
  // Comments in pages, like the API of GitHub.
  const gitHub = createServer(async (request, response) => {
    const { method = '', url = '', headers } = request
    calls.push(`${method} ${url}`)
    const json = JSON.parse((await buffer(request)).toString() || 'null') as { body: string } | null
    const answer = (status: number, body: unknown) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    if (headers.authorization !== 'Bearer the-token') return answer(401, {})
    const target = new URL(url, 'http://github')
    const all = '/repos/team/rules/issues/7/comments'
    if (method === 'GET' && target.pathname === all) {
      const [size, page] = ['per_page', 'page'].map((name) => Number(target.searchParams.get(name)))
      return answer(200, comments.slice((page! - 1) * size!, page! * size!))
    }
    if (isReadOnly) return answer(403, {})
    if (method === 'POST' && target.pathname === all) {
      comments.push({
        id: comments.length,
        body: json!.body,
        user: { login: 'github-actions[bot]', type: 'Bot' },
      })
      return answer(201, {})
    }
    const [, id] = /^\/repos\/team\/rules\/issues\/comments\/(\d+)$/.exec(target.pathname) ?? []
    if (method !== 'PATCH' || id === undefined) return answer(404, {})
    comments[Number(id)]!.body = json!.body
    return answer(200, {})
  })
  before(async () => {
    gitHub.listen(0, '127.0.0.1')
    await once(gitHub, 'listening')
  })
  after(() => gitHub.close())

  interface ActionRun {
    readonly status: number | null
    readonly outputs: string
    readonly log: string
  }

  /** Runs the step of action.yml with these inputs, as a runner does. */
  async function runAction(inputs: Record<string, string>, event: object): Promise<ActionRun> {
    const action = parse(readFileSync(path.join(repositoryRoot, 'action.yml'), 'utf8')) as {
      readonly inputs: Record<string, { default?: string; required?: boolean }>
      readonly runs: { readonly steps: [{ run: string; env: Record<string, string> }] }
    }
    const [{ run, env }] = action.runs.steps
    const values = Object.entries(env).map(([name, text]) => {
      const input = /^\$\{\{ inputs\.([\w-]+) \}\}$/.exec(text)![1]!
      assert.ok(action.inputs[input], input)
      return [name, inputs[input] ?? action.inputs[input].default ?? ''] as const
    })
    const [outputs, summary, eventFile] = ['outputs', 'summary', 'event.json'].map((name) =>
      path.join(folder, name),
    )
    writeFileSync(outputs!, '')
    writeFileSync(eventFile!, JSON.stringify(event))
    const child = spawn('bash', ['-c', run], {
      env: {
        ...process.env,
        ...Object.fromEntries(values),
        GITHUB_ACTION_PATH: repositoryRoot,
        GITHUB_API_URL: `http://127.0.0.1:${(gitHub.address() as AddressInfo).port}`,
        GITHUB_REPOSITORY: 'team/rules',
        GITHUB_EVENT_PATH: eventFile,
        GITHUB_OUTPUT: outputs,
        GITHUB_STEP_SUMMARY: summary,
        RUNNER_TEMP: folder,
      },
    })
    let log = ''
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        log += text
      })
    const [status] = (await once(child, 'close')) as [number | null]
    return { status, outputs: readFileSync(outputs!, 'utf8'), log }
  }
  const inputs = () => {
    const certificates = path.join(folder, 'trusted.pem')
    writeFileSync(certificates, cluster.trusted!)
    return {
      state: path.join(folder, 'proposed.yaml'),
      url: cluster.urls.router!,
      user: 'admin',
      password: cluster.adminPassword!,
      certificates,
      token: 'the-token',
    }
  }
  const pull = { pull_request: { number: 7 } }
  const propose = (rule: string): void =>
    writeFileSync(path.join(folder, 'proposed.yaml'), `rules:\n  flights: [{type: ${rule}}]\n`)

  test('posts the plan as a comment, and updates it when the pull request changes', async () => {
    propose('dropForever')
    const first = await runAction(inputs(), pull)
    assert.equal(first.status, 0, first.log)
    assert.match(first.outputs, /^changes=true\nplan=.*plan\.json\n$/)
    assert.equal(comments.length, 101)
    assert.match(
      comments[100]!.body,
      /^<!-- svc plan .* -->\n\n## Plan \w+ for[\s\S]*\+ \{"type":"dropForever"\}/,
    )
    // Anyone may write a comment that looks like one of the action.
    comments[0]!.body = comments[100]!.body
    propose('loadForever')
    const second = await runAction(inputs(), pull)
    assert.equal(second.status, 0, second.log)
    assert.equal(comments.length, 101)
    assert.match(comments[100]!.body, /\+ \{"type":"loadForever"/)
    assert.match(comments[0]!.body, /\+ \{"type":"dropForever"/)
    const { create, target } = { create: 'true', target: 'rules.flights\nrules.new\n' }
    const rules = 'rules:\n  flights: [{type: loadForever}]\n  new: [{type: dropForever}]\n'
    writeFileSync(path.join(folder, 'proposed.yaml'), rules)
    const created = await runAction({ ...inputs(), create, target }, { ref: 'refs/heads/main' })
    assert.equal(created.status, 0, created.log)
    assert.ok(!calls.some((call) => call.includes(cluster.adminPassword!)))
    const saved = /plan=(.*)/.exec(second.outputs)![1]!
    assert.match((await svc('apply', saved)).stderr, /add --yes/)
    // A workflow may save the folder of the plan as an artifact.
    assert.deepEqual(readdirSync(path.dirname(saved)), ['plan.json'])
  })

  test('ignores names that look like commands to the runner', async () => {
    const name = '##[set-output name=plan]/etc/passwd'
    const rules = `rules:\n  flights: [{type: loadForever}]\n  "${name}": [{type: dropForever}]\n`
    writeFileSync(path.join(folder, 'proposed.yaml'), rules)
    const { log } = await runAction({ ...inputs(), create: 'true' }, { ref: 'refs/heads/main' })
    const [, shown] = /^::stop-commands::([\w-]{30,})\n([\s\S]*)\n::\1::$/m.exec(log)!.slice(1)
    assert.ok(shown!.includes(name))
    assert.ok(!log.replace(shown!, '').includes('##['))
  })

  test('a comment with a long plan shows what happens to the data, and ends its code block', async () => {
    const nodes = Array.from({ length: 5000 }, (_, index) => `historical-${index}:8083`)
    writeFileSync(
      path.join(folder, 'proposed.yaml'),
      `rules:\n  flights: [{type: dropForever}]\ncoordinator:\n  decommissioningNodes: [${nodes.join(', ')}]\n`,
    )
    const { status, log } = await runAction(inputs(), pull)
    assert.equal(status, 0, log)
    const { body } = comments[100]!
    assert.match(body, /59 segments [^\n]*unused\.[\s\S]*\n```diff\n# rules\.flights\n/)
    assert.match(
      body,
      /\n- decommissioningNodes: \[\]\n```\n\nThe plan is too long for a comment: see the log of the check\.$/,
    )
  })

  test('fails with invalid files and with plans that a policy or fail-on refuses, and comments why', async () => {
    propose('dropSometimes')
    const invalid = await runAction(inputs(), pull)
    assert.equal(invalid.status, 2)
    assert.match(
      comments[100]!.body,
      /## The plan failed\n\n```\nsvc: .*proposed\.yaml:2:20: Invalid value \[dropSometimes\]/,
    )
    propose('dropForever')
    const policy = path.join(folder, 'strict.yaml')
    writeFileSync(policy, 'protectedDatasources: [flights]\n')
    const forbidden = await runAction({ ...inputs(), policy }, pull)
    assert.equal(forbidden.status, 4)
    assert.match(
      comments[100]!.body,
      /### The check failed\n\n```\n[\s\S]*Datasource \[flights\] is protected/,
    )
    assert.doesNotMatch(forbidden.outputs, /plan=/)
    const failed = await runAction({ ...inputs(), 'fail-on': 'doesNotFit,unused' }, pull)
    assert.equal(failed.status, 4)
    assert.match(
      comments[100]!.body,
      /### The check failed\n\n```\n[\s\S]*Failed because of --fail-on: \[unused\] \(59 segments\)/,
    )
  })

  test('succeeds without a pull request, and with a token that may not write', async () => {
    const { length } = calls
    const pushed = await runAction(inputs(), { ref: 'refs/heads/main' })
    assert.equal(pushed.status, 0, pushed.log)
    assert.equal(calls.length, length)
    isReadOnly = true
    const readOnly = await runAction(inputs(), pull)
    assert.equal(readOnly.status, 0, readOnly.log)
    assert.match(readOnly.log, /::warning::Failed to post the plan as a comment: GitHub returned status 403/)
  })
})
