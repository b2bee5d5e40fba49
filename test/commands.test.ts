// The commands that look at a cluster and change it, on a home, at a URL, and on a router that has only Druid's paths.
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { after, before, describe, test } from 'node:test'
import { promisify, stripVTControlCharacters } from 'node:util'
import { trustStoreFile } from '@svc/cli/pki'
import { createHttpClient, type HttpClient } from '@svc/shared/testing'
import { firstOutput } from './support/first-output.ts'
import { flights, flightsTask, runTask } from './support/flights.ts'
import { runSvc, svcCommand } from './support/svc-command.ts'
import { startTestCluster, type TestCluster } from './support/test-cluster.ts'
import { newTestFolder } from './support/test-folder.ts'

const folder = newTestFolder()
const at = (name: string) => path.join(folder, name)
const { dataSource } = flights
let cluster: TestCluster
let home: string[]
let client: HttpClient
let relay: Server

before(async () => {
  cluster = await startTestCluster({ set: ['svc.api.aliases=["druid"]', 'svc.coordinator.period=PT1S'] })
  home = ['--home', cluster.home.root]
  writeFileSync(at('rules'), '[{"type":"loadForever","tieredReplicants":{"_default_tier":1}}]')
  writeFileSync(at('password'), 'reader-password\n')
  client = createHttpClient(cluster.routerUrl, { trusted: cluster.trusted })
  relay = createServer(async (incoming, outgoing) => {
    const isDruid = /^\/(proxy\/\w+\/)?druid/.test(incoming.url ?? '')
    if (!isDruid) {
      outgoing.writeHead(404).end()
      return
    }
    const { method = 'GET', url: target = '/' } = incoming
    const headers = incoming.headers as Record<string, string>
    const answer = await client.open({ method, path: target, headers, pieces: incoming })
    outgoing.writeHead(answer.statusCode!, answer.headers)
    answer.pipe(outgoing)
  })
  relay.listen(0, '127.0.0.1')
  await once(relay, 'listening')
})
after(async () => {
  relay?.closeAllConnections()
  relay?.close()
  client?.close()
  await cluster?.end()
})

async function succeed(...args: string[]): Promise<string> {
  const { status, stdout, stderr } = await runSvc(...args)
  assert.equal(status, 0, stderr)
  return stdout
}

test('rules of a datasource without data need --create, so that a typo is noticed', async () => {
  const set = ['rules', 'set', at('rules'), ...home, '--datasource']
  const refused = await runSvc(...set, dataSource)
  assert.equal(refused.status, 2)
  assert.match(refused.stderr, /^svc: Unknown datasource \[flights\]: .* add --create\.\n$/)
  await succeed(...set, dataSource, '--create')
  const typo = await runSvc(...set, 'fligths')
  assert.match(typo.stderr, /Similar names: \[flights\]\. To set rules before the data arrives, add --create/)
})

test('waits until the data is loaded, and times out with what is lacking', async () => {
  await succeed('wait', 'ready', ...home)
  assert.match(await succeed('wait', 'known', ...home), /^The state of the cluster is known \(/)
  const waiting = runSvc('wait', 'loaded', '--replicas', '--datasource', dataSource, '--json', ...home)
  await runTask(cluster.router, flightsTask())
  const { status, stdout, stderr } = await waiting
  assert.equal(status, 0, stderr)
  assert.equal(JSON.parse(stdout).state, 'loaded')
  await succeed('wait', 'tasks', ...home)
  const lacking = await runSvc('wait', 'loaded', '--datasource', 'nosuch', '--timeout', '1', ...home)
  assert.equal(lacking.status, 6)
  assert.equal(lacking.stderr, 'svc: Timed out after 1.0 s: datasource [nosuch] has no used segments\n')
})

test('waits for a server that does not listen, but not for one that it can never reach', async () => {
  const wait = (url: string, seconds: string) => runSvc('wait', 'ready', '--url', url, '--timeout', seconds)
  const refused = await wait('http://127.0.0.1:1', '1')
  assert.equal(refused.status, 6)
  assert.match(refused.stderr, /^svc: Timed out after 1\.0 s: .* ECONNREFUSED/)
  for (const [url, cause] of [
    [cluster.routerUrl, 'self-signed certificate in certificate chain. Use --trust to'],
    ['https://nosuch.invalid', 'unknown host [nosuch.invalid]'],
  ] as const) {
    const { status, stderr } = await wait(url, '100')
    assert.equal(status, 1)
    assert.ok(stderr.startsWith(`svc: Failed to reach the router at [${url}]: ${cause}`), stderr)
  }
})

test('reports a datasource that does not exist instead of its compaction', async () => {
  for (const args of [['status'], ['history']]) {
    const none = await runSvc('compaction', ...args, '--datasource', 'fligths', ...home)
    assert.equal(none.status, 2)
    assert.match(none.stderr, /^svc: Unknown datasource \[fligths\]: .* Similar names: \[flights\]/)
    assert.match(await succeed('compaction', ...args, '--datasource', dataSource, ...home), /flights/)
  }
})

test('a folder that is not a home is invalid input', async () => {
  const up = await runSvc('up', '--home', folder)
  assert.equal(up.status, 2)
  assert.match(up.stderr, /is not empty and is not an svc home/)
})

test('shows tiers, datasources, and segments in 80 columns', async () => {
  const tiers = await succeed('tiers', ...home)
  assert.match(tiers, /^tier +servers +replicas +size +capacity\n_default_tier +1 +90 +\S+ kB +\S+ GB\n$/)
  const datasources = await succeed('datasources', ...home)
  assert.match(datasources, /^flights +100% +90 +\S+ kB +2001-01-01 +2001-04-01 +_default_tier 90$/m)
  const segments = await succeed(
    'segments',
    '--datasource',
    dataSource,
    '--interval',
    '2001-02-01/P3D',
    ...home,
  )
  assert.deepEqual(segments.match(/^2001\S+/gm), ['2001-02-03/P1D', '2001-02-02/P1D', '2001-02-01/P1D'])
  for (const line of `${tiers}${datasources}${segments}`.split('\n')) assert.ok(line.length <= 80, line)
  const listed = JSON.parse(await succeed('segments', ...home, '--json')) as { servers: string[] }[]
  assert.equal(listed.length, 90)
  assert.ok(listed.every(({ servers }) => servers.length === 1))
})

test('everything that a preview prints fits into a terminal of 80 columns', async () => {
  const file = at('preview.json')
  const rules = [
    {
      type: 'loadByPeriod',
      period: 'P1M',
      tieredReplicants: { _default_tier: 1, 'a-tier-without-servers': 2 },
    },
    {
      type: 'loadByInterval',
      interval: '2001-02-01T06:00/2001-03-01',
      tieredReplicants: { _default_tier: 2 },
    },
    { type: 'dropForever' },
  ]
  writeFileSync(file, JSON.stringify(rules))
  const preview = [
    svcCommand,
    'rules',
    'preview',
    file,
    '--datasource',
    dataSource,
    '--horizon',
    'P90D',
    ...home,
  ]
  for (const variables of [{ FORCE_COLOR: '1' }, { NO_COLOR: '1' }]) {
    const inTerminal = ['-qec', `stty cols 80; ${preview.map((word) => `'${word}'`).join(' ')}`, '/dev/null']
    const { stdout } = await promisify(execFile)('script', inTerminal, {
      env: { ...process.env, FORCE_COLOR: undefined, NO_COLOR: undefined, ...variables },
    })
    assert.equal(stdout !== stripVTControlCharacters(stdout), variables.FORCE_COLOR !== undefined)
    const lines = stripVTControlCharacters(stdout).split(/\r?\n/)
    assert.ok(lines.some((line) => line.startsWith('rule   ')))
    for (const line of lines) assert.ok(line.length <= 80, line)
  }
})

test('marks segments as unused and used', async () => {
  const january = ['--datasource', dataSource, '--interval', '2001-01-01/P1M', ...home]
  assert.equal(await succeed('mark-unused', ...january), 'Marked 31 segments of [flights] as unused.\n')
  assert.equal(await succeed('mark-unused', ...january), 'Marked 0 segments of [flights] as unused.\n')
  const unused = JSON.parse(
    await succeed('segments', '--datasource', dataSource, '--unused', '--json', ...home),
  )
  assert.equal(unused.length, 31)
  const one = ['--datasource', dataSource, '--segment', unused[0].id, ...home]
  assert.equal(await succeed('mark-used', ...one), 'Marked 1 segment of [flights] as used.\n')
  const all = JSON.parse(await succeed('mark-used', '--datasource', dataSource, '--all', '--json', ...home))
  assert.deepEqual(all, { dataSource, used: true, changedSegments: 30 })
})

test('watches tiers until Ctrl-C', async () => {
  const child = spawn(svcCommand, ['tiers', '--watch', '--json', ...home], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const line = await firstOutput(child)
  assert.equal(JSON.parse(line)[0].tier, '_default_tier')
  child.kill('SIGINT')
  const [status, signal] = await once(child, 'exit')
  assert.ok(status === 130 || signal === 'SIGINT')
})

test('commands that show changes end when nobody reads them anymore', async () => {
  for (const args of [
    ['tiers', '--watch'],
    ['logs', '--follow', '--lines', '1'],
  ]) {
    const child = spawn(svcCommand, [...args, ...home], { stdio: ['ignore', 'pipe', 'inherit'] })
    child.stdout.destroy()
    assert.deepEqual(await once(child, 'exit'), [0, null])
  }
})

test('creates, changes, and removes users', async () => {
  const nosuch = await runSvc('users', 'create', 'reader', '--role', 'nosuch', ...home)
  assert.match(nosuch.stderr, /^svc: Role \[nosuch\] does not exist/)
  const created = ['users', 'create', 'reader', '--new-password-file', at('password'), ...home]
  assert.match(await succeed(...created), /^reader +set$/m)
  const again = await runSvc(...created)
  assert.match(again.stderr, /^svc: User \[reader\] already exists/)
  assert.match(await succeed('users', 'roles', 'reader', '--add', 'admin', ...home), /^reader +set +admin$/m)
  const users = await succeed('users', ...home)
  assert.match(users, /^admin +set +admin\nreader +set +admin\n/m)
})

describe('at a URL', () => {
  const login = () => ['--user', 'reader', '--password-file', at('password')]
  const router = () => ['--url', cluster.routerUrl, '--trust', trustStoreFile(cluster.home.pki), ...login()]
  const druid = () => ['--url', `http://127.0.0.1:${(relay.address() as AddressInfo).port}`, ...login()]

  for (const [name, where] of [
    ['svc', router],
    ['Druid', druid],
  ] as const)
    test(`commands work on ${name}`, async () => {
      await succeed('wait', 'ready', ...where())
      await succeed('wait', 'loaded', ...where())
      assert.match(await succeed('tiers', ...where()), /^_default_tier +1 +90 /m)
      assert.match(await succeed('datasources', ...where()), /^flights +100%/m)
      assert.match(await succeed('users', ...where()), /^reader +set +admin$/m)
      const comment = `from ${name}`
      await succeed('rules', 'set', at('rules'), '--datasource', dataSource, '--comment', comment, ...where())
      assert.match(
        await succeed('rules', 'history', '--count', '1', ...where()),
        new RegExp(`reader +${comment}`),
      )
      assert.equal(
        (await runSvc('rules', 'diff', at('rules'), '--datasource', dataSource, ...where())).status,
        0,
      )
      assert.match(
        await succeed('sql', 'SELECT count(*) AS n FROM flights', '--csv', ...where()),
        /^n\n20000\n/,
      )
    })

  test('previews of rules for Druid, which has none, are computed here and equal to those of svc', async () => {
    const preview = async (where: readonly string[]) => {
      const args = [at('rules'), '--datasource', dataSource, '--now', '2026-06-15', '--full', '--json']
      const { now, summary, segments, warnings } = JSON.parse(
        await succeed('rules', 'preview', ...args, ...where),
      ) as Record<'now' | 'segments' | 'warnings', unknown> & { readonly summary: Record<string, unknown> }
      // Druid neither reports load rates nor stores why segments are unused.
      const { loadTime: _, restorable: __, ...counts } = summary
      return { now, segments, warnings, counts }
    }
    await succeed('wait', 'settled', ...home)
    assert.deepEqual(await preview(druid()), await preview(home))
    const text = await succeed('rules', 'preview', at('rules'), '--datasource', dataSource, ...druid())
    assert.match(text, /_default_tier/)
  })

  test('setting rules shows the same warnings on svc and Druid', async () => {
    writeFileSync(at('hott'), '[{"type":"loadForever","tieredReplicants":{"_default_tier":1,"hott":1}}]')
    const warnings = async (where: readonly string[]) => {
      const { status, stderr } = await runSvc(
        'rules',
        'set',
        at('hott'),
        '--datasource',
        dataSource,
        ...where,
      )
      assert.equal(status, 0, stderr)
      return stderr
    }
    assert.match(await warnings(router()), /requires 1 replica in tier \[hott\], which has no servers/)
    assert.equal(await warnings(druid()), await warnings(router()))
    await succeed('rules', 'set', at('rules'), '--datasource', dataSource, ...druid())
  })

  test('a preview of several lists of rules says why it shows none', async () => {
    writeFileSync(at('lists'), JSON.stringify({ [dataSource]: [{ type: 'dropForever' }], other: [] }))
    const text = await succeed('rules', 'preview', at('lists'), ...router())
    assert.match(text, /^Rules are shown only if a single list of rules changes\.$/m)
  })

  test('Druid cannot preview what --mark-used adds, and has no clock', async () => {
    const rules = [at('rules'), '--datasource', dataSource, '--mark-used']
    const markUsed = await runSvc('rules', 'preview', ...rules, ...druid())
    assert.deepEqual(
      [markUsed.status, /^svc: Druid does not store which rules marked/.test(markUsed.stderr)],
      [2, true],
    )
    const { status, stderr } = await runSvc('clock', 'show', ...druid())
    assert.equal(status, 4)
    const revert = await runSvc('rules', 'revert', '--datasource', dataSource, ...druid())
    assert.equal(revert.status, 4)
    assert.match(revert.stderr, /^svc: Druid does not support this.*use \.\/svc apply --revert with the ID/)
    const access = await runSvc('auth', 'explain', 'admin', '/status', ...druid())
    assert.equal(access.status, 4)
    assert.match(access.stderr, /^svc: Druid does not support this/)
    assert.match(stderr, /^svc: Druid does not support this.*Import the cluster with \.\/svc import/)
  })

  test('commands that need the router say so at the URL of another server', async () => {
    const [, , ...rest] = router()
    for (const [instance, command] of [
      ['coordinator', ['users']],
      ['coordinator', ['wait', 'ready']],
      ['coordinator', ['sql', 'SELECT 1']],
      ['historical-1', ['wait', 'known']],
    ] as const) {
      const url = cluster.urls[instance]!
      const { status, stderr } = await runSvc(...command, '--url', url, ...rest)
      assert.ok(
        stderr.startsWith(
          `svc: The server at [${url}] is not a router: this command needs the URL of the cluster's router`,
        ),
        stderr,
      )
      assert.equal(status, 2)
    }
  })

  test('a rejected and a missing login say what to do', async () => {
    const [url, value, trust, file] = router() as [string, string, string, string]
    const missing = await runSvc('tiers', url, value, trust, file)
    assert.deepEqual(
      [missing.status, /Log in with --user and --password-file/.test(missing.stderr)],
      [4, true],
    )
    const wrong = await runSvc('tiers', url, value, trust, file, '--user', 'reader:wrong')
    assert.match(wrong.stderr, /rejected the credentials: expected a valid --user/)
    const untrusted = await runSvc('tiers', url, value)
    assert.match(untrusted.stderr, /Use --trust to specify the CA certificates/)
  })
})

test('after the password of the admin was changed, says what to do, and stores the new one', async () => {
  const credentials =
    '/svc-ext/basic-security/authentication/db/MyBasicMetadataAuthenticator/users/admin/credentials'
  await cluster.at('coordinator').post(credentials, { password: 'changed-password' })
  const rejected = await runSvc('tiers', ...home)
  assert.equal(rejected.status, 4)
  assert.match(
    rejected.stderr,
    /might have been changed\. Log in with --user .* \.\/svc password --set --home \S+\.\n$/,
  )
  await succeed('tiers', ...home, '--user', 'reader', '--password-file', at('password'))
  const set = ['password', '--set', ...home, '--new-password-file']
  const wrong = await runSvc(...set, at('password'))
  assert.match(wrong.stderr, /rejected this admin password, so it was not stored/)
  writeFileSync(at('changed'), 'changed-password\n')
  await succeed(...set, at('changed'))
  await succeed('tiers', ...home)
  writeFileSync(at('changed'), 'changed-again\n')
  await succeed('users', 'password', 'admin', '--new-password-file', at('changed'), ...home)
  assert.equal(await succeed('password', ...home), 'changed-again\n')
  assert.equal(await succeed('users', 'remove', 'reader', ...home), 'Removed user [reader].\n')
})
