import assert from 'node:assert/strict'
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, describe, test } from 'node:test'
import { waitUntil } from '@svc/shared/testing'
import { bundleOf } from '../bundles/index.ts'
import { type ClusterStatus, pickPortOffset } from '../cluster/index.ts'
import { homeLayout, readRunFile, repositoryRoot } from '../home/index.ts'
import { isRunning, type ProcessIdentity } from '../processes/index.ts'

const folder = mkdtempSync(path.join(tmpdir(), 'svc-commands-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const main = bundleOf('svc')

interface Outcome {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

function start(args: readonly string[], file = process.execPath, before = [main]): ChildProcess {
  return spawn(file, [...before, ...args], { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] })
}

async function outcomeOf(child: ChildProcess): Promise<Outcome> {
  let stdout = ''
  let stderr = ''
  child.stdout!.on('data', (chunk) => {
    stdout += chunk
  })
  child.stderr!.on('data', (chunk) => {
    stderr += chunk
  })
  const [status] = await once(child, 'close')
  return { status, stdout, stderr }
}

const svc = (...args: string[]) => outcomeOf(start(args))

/** Everything that the run file of a home names, the supervising process first. */
function processesOf(home: string): ProcessIdentity[] {
  const run = readRunFile(homeLayout(home))!
  return [run.supervisor, ...run.processes.map((entry) => entry.process!)]
}

async function untilPrinted(child: ChildProcess, text: string): Promise<void> {
  let printed = ''
  for await (const [chunk] of (await import('node:events')).on(child.stdout!, 'data')) {
    printed += chunk
    if (printed.includes(text)) return
  }
}

const badState = path.join(folder, 'state.yaml')
writeFileSync(badState, '# comment\nruls: {}\n')
const badPlan = path.join(folder, 'plan.json')
writeFileSync(badPlan, '{"version": 2}')

const pipe = path.join(folder, 'pipes', 'pipe.yaml')
mkdirSync(path.dirname(pipe))
execFileSync('mkfifo', [pipe])

for (const args of [
  ['sample', '-', '--rows', '100000'],
  ['help', 'up'],
])
  test(`./svc ${args.join(' ')} ends quietly if nobody reads its output`, async () => {
    const child = start(args)
    child.stdout!.destroy()
    let stderr = ''
    child.stderr!.on('data', (chunk) => {
      stderr += chunk
    })
    const [status] = await once(child, 'close')
    assert.deepEqual({ status, stderr }, { status: 0, stderr: '' })
  })

describe('invalid usage exits with status 2 and says what is expected', () => {
  const cases: { given: string[]; stderr: RegExp }[] = [
    { given: [], stderr: /^Usage: svc <command>/ },
    {
      given: ['rules', 'preview', '/dev/zero'],
      stderr: /^svc: Too much text in file \[\/dev\/zero\]: expected at most 64 MiB\n$/,
    },
    { given: ['upp'], stderr: /^svc: unknown command 'upp'\n\(Did you mean up\?\)/ },
    { given: ['up', '--hoem', 'x'], stderr: /^svc: unknown option '--hoem'\n\(Did you mean --home\?\)/ },
    { given: ['up', '--home'], stderr: /^svc: option '--home <dir>' argument missing/ },
    { given: ['up', 'now'], stderr: /^svc: too many arguments for 'up'/ },
    {
      given: ['up', '--port-offset', '80'],
      stderr: /^svc: Invalid value \[80\] for \[--port-offset\]: expected 0, or/,
    },
    { given: ['up', '--set', 'x=1', '--detach'], stderr: /^svc: Invalid value \[x=1\] for \[--set\]/ },
    {
      given: ['up', '--admin-password', ''],
      stderr: /^svc: Invalid value for \[--admin-password\]: expected non-empty text/,
    },
    ...[[], ['--detach']].flatMap((more) => [
      {
        given: ['up', '--admin-password', 'short', ...more],
        stderr: /^svc: Invalid value for \[--admin-password\] \(\[5\] characters\)/,
      },
      {
        given: ['up', '--set', 'svc.coordinator.perod=PT1S', ...more],
        stderr: /^svc: Failed to start router: .*the closest match is \[svc\.coordinator\.period\]/s,
      },
    ]),
    {
      given: ['dev', 'test', '--concurrency', 'all'],
      stderr: /^svc: Invalid value \[all\] for \[--concurrency\]/,
    },
    { given: ['tiers', '--home', 'x', '--url', 'http://x'], stderr: /--home and --url cannot be combined/ },
    { given: ['tiers', '--url', 'router:9088'], stderr: /^svc: Invalid URL \[router:9088\]: expected a URL/ },
    { given: ['tiers', '--url', 'http://x', '--user', 'me'], stderr: /--user has no password/ },
    {
      given: ['plan', badState],
      stderr: /^svc: .*state\.yaml:2:1: Unknown field \[ruls\] with value \[\{\}\]: expected one of /,
    },
    {
      given: ['apply', 'nope.json'],
      stderr:
        /^svc: \[nope\.json\] does not exist\. To save a plan, run \.\/svc plan with --out nope\.json\./,
    },
    {
      given: ['apply', badPlan],
      stderr: /^svc: \S+plan\.json:1:13: Invalid value \[2\] for \[version\]: expected \[1\]/,
    },
    {
      given: ['apply', badPlan, '--target', 'rules'],
      stderr: /^svc: Options --target and --create cannot be used with a saved plan/,
    },
    {
      given: ['auth', 'explain', 'ann'],
      stderr: /^svc: Missing user or path: expected both, or --request or/,
    },
    {
      given: ['auth', 'explain', 'ann', '/status', '--request', 'x'],
      stderr: /^svc: Expected exactly one of: a user and a path, --request, or --handshake/,
    },
    ...[
      ['--handshake', '--group', 'cn=x'],
      ['--handshake', '--authorizer', 'x'],
      ['--handshake', '--method', 'GET'],
      ['--request', '--method', 'POST'],
    ].map(([about, option, value]) => ({
      given: ['auth', 'explain', about!, 'x', option!, value!],
      stderr: new RegExp(`^svc: Option ${option} has no effect with ${about}: leave it out`),
    })),
    ...[
      ['plan', pipe],
      ['plan', path.dirname(pipe)],
      ['apply', pipe],
      ['plan', badState, '--policy', pipe],
    ].map((given) => ({
      given,
      stderr: /^svc: \S+pipe\.yaml:1:1: Failed to read the file: The path is a named pipe: expected a file/,
    })),
    {
      given: ['plan', badState, '--policy', folder],
      stderr: /^svc: \S+:1:1: Failed to read the file: The path is a folder: expected a file/,
    },
    {
      given: ['apply', '--revert', '/dev/zero'],
      stderr: /^svc: Failed to read the plan \[\/dev\/zero\]: The path is a device: expected a file/,
    },
    { given: ['explain', 'tier', ''], stderr: /^svc: Invalid value \[\] for \[name\]: expected a non-blank/ },
    {
      given: ['explain', 'segment', ' '],
      stderr: /^svc: Invalid value \[ \] for \[id\]: expected a non-blank/,
    },
    { given: ['doctor'], stderr: /^svc: Missing value for \[--config\]/ },
    {
      given: ['doctor', '--config', 'nowhere'],
      stderr: /^svc: Invalid value \[nowhere\] .*expected an existing folder/,
    },
    {
      given: ['doctor', '--config', folder],
      stderr: /^svc: Missing file \[_common\/common\.runtime\.properties\]/,
    },
    {
      given: ['doctor', '--config', folder, '--map', 'x'],
      stderr: /^svc: Invalid value \[x\] for \[--map\]/,
    },
    {
      given: ['doctor', '--config', folder, '--variables', 'nowhere'],
      stderr: /^svc: Failed to read the file \[nowhere\]/,
    },
    { given: ['up', '--map', '/a=/b'], stderr: /^svc: Options --variables and --map require --config/ },
    { given: ['up', '--config', folder, '--ldap'], stderr: /cannot be used with --config/ },
    { given: ['wait', 'forever'], stderr: /^svc: Invalid value \[forever\] for \[state\]: expected one of/ },
    { given: ['wait', 'tasks', '--replicas'], stderr: /--replicas requires the state \[loaded\]/ },
    { given: ['wait', 'ready', '--datasource', 'x'], stderr: /--datasource requires one of the states/ },
    { given: ['mark-unused', '--datasource', 'x'], stderr: /^svc: Exactly one of \[--interval\]/ },
    { given: ['sample', 'x.csv', '--days', '0'], stderr: /^svc: Invalid value \[0\] for \[--days\]/ },
    { given: ['sample', 'x.csv', '--rows', '2'], stderr: /^svc: Invalid value \[2\] for \[--rows\]/ },
    { given: ['sample', 'x.csv', '--end', 'today'], stderr: /^svc: Invalid value \[today\] for \[--end\]/ },
    {
      given: ['sample', 'x.csv', '--end', '2026-02-31'],
      stderr: /^svc: Invalid value \[2026-02-31\] for \[--end\]/,
    },
  ]
  for (const { given, stderr } of cases) {
    test(`svc ${given.join(' ')}`, async () => {
      const home = path.join(folder, 'usage')
      const named = given[0] === 'up' && !given.includes('--home') ? ['--home', home] : []
      const outcome = await svc(...given, ...named)
      assert.match(outcome.stderr, stderr)
      assert.equal(outcome.status, 2)
      assert.equal(existsSync(home), false, 'no home is left behind')
    })
  }
})

describe('svc doctor', () => {
  const configurations = path.join(repositoryRoot, 'cli/src/doctor/configurations')
  const cluster = (name: string) => path.join(configurations, name, 'conf/druid/cluster')
  const [good, broken] = ['good/metadata-store', 'broken/everything-unsecured'].map(cluster) as [
    string,
    string,
  ]

  test('prints findings as JSON, and exits with status 4', async () => {
    const { status, stdout } = await svc('doctor', '--config', broken, '--offline', '--json')
    const codes = JSON.parse(stdout).findings.map(({ code }: { code: string }) => code)
    // The stores of the configuration are not in the repository.
    assert.deepEqual([...new Set(codes)].sort(), ['path-unsecured', 'store-missing'])
    assert.equal(status, 4)
  })

  test('diff exits with status 5 if a decision changes, and with status 0 if none does', async () => {
    const changed = await svc('doctor', 'diff', good, broken, '--json')
    const { lockouts, changes } = JSON.parse(changed.stdout)
    assert.equal(changes[0].subject, 'callers without a login')
    assert.deepEqual(lockouts, [])
    assert.equal(changed.status, 5)
    const same = await svc('doctor', 'diff', good, good)
    assert.equal(same.stdout, 'No user gains or loses access.\n')
    assert.equal(same.status, 0)
  })

  test('diff exits with status 4 if someone is locked out, and shows that first', async () => {
    const refusing = cluster('broken/escalator-forgotten')
    const { stdout, status } = await svc('doctor', 'diff', good, refusing, '--json')
    const { lockouts, changes } = JSON.parse(stdout)
    assert.equal(lockouts[0].subject, 'the servers')
    assert.equal(lockouts[0].loses, 'access')
    assert.equal(changes.length, 1)
    assert.equal(status, 4)
    const shown = await svc('doctor', 'diff', good, refusing)
    assert.match(shown.stdout, /^the servers: locked out of all servers\n/)
    assert.equal(shown.status, 4)
    assert.equal((await svc('doctor', 'diff', good, 'nowhere')).status, 2)
    const back = await svc('doctor', 'diff', cluster('broken/extension-forgotten'), good)
    assert.match(back.stdout, /^everyone: no longer locked out of all servers\n {2}Fixed: /)
    assert.equal(back.status, 5)
  })
})

describe('every command has help', () => {
  for (const command of [
    [],
    ['up'],
    ['down'],
    ['status'],
    ['logs'],
    ['password'],
    ['reset'],
    ['dev'],
    ['dev', 'test'],
    ['doctor'],
    ['doctor', 'diff'],
    ['wait'],
    ['pull'],
    ['plan'],
    ['apply'],
    ['drift'],
    ['tiers'],
    ['datasources'],
    ['segments'],
    ['mark-used'],
    ['mark-unused'],
    ['users'],
    ['users', 'create'],
    ['sample'],
    ['rules', 'preview'],
    ['worker'],
  ]) {
    test(`svc ${command.join(' ')} --help`, async () => {
      const { status, stdout, stderr } = await svc(...command, '--help')
      assert.deepEqual([status, stderr], [0, ''])
      assert.match(stdout, new RegExp(`^Usage: svc ${command.join(' ')}`))
    })
  }
})

test('help of a nested command shows that command, and each default once', async () => {
  const preview = await svc('help', 'rules', 'preview')
  assert.match(preview.stdout, /^Usage: svc rules preview \[options\] <file>/)
  const { stdout } = await svc('help', 'worker')
  assert.equal(stdout.match(/default: 4/g)?.length, 1)
  for (const command of [[], ['rules'], ['dev', 'bench']])
    assert.match((await svc(...command, '--help')).stdout, /^ {2}help \[command\] +Show help for a command$/m)
})

test('keeps its exit status if the pipe of its output is closed, such as that of head', async () => {
  for (const [args, expected] of [
    [['--version'], 0],
    [['rules', 'preview', 'missing.json', '--datasource', 'a'], 2],
  ] as const) {
    const child = start(args)
    child.stdout!.destroy()
    child.stderr!.destroy()
    const [status] = await once(child, 'exit')
    assert.equal(status, expected)
  }
})

test('shows its version', async () => {
  const { status, stdout } = await svc('--version')
  assert.equal(status, 0)
  assert.match(stdout, /^svc \d+\.\d+\.\d+ \(management interface of Apache Druid 37\.0\.0\)\n$/)
})

test('writes sample data up to a day, but not over a file', async () => {
  const file = path.join(folder, 'sample.csv')
  const { status, stdout } = await svc('sample', file, '--days', '3', '--rows', '6', '--end', '2026-03-02')
  assert.equal(status, 0)
  assert.equal(stdout, `Wrote 6 rows for 3 days (2026-02-27/2026-03-02) to [${file}].\n`)
  const [header, ...rows] = readFileSync(file, 'utf8').trimEnd().split('\n')
  assert.equal(header, 'time,delay,distance,origin,destination')
  assert.deepEqual(
    rows.map((row) => row.slice(0, 10)),
    ['2026-02-27', '2026-02-27', '2026-02-28', '2026-02-28', '2026-03-01', '2026-03-01'],
  )
  const again = await svc('sample', file)
  assert.equal(again.status, 2)
  assert.match(again.stderr, /already exists\. Choose another file/)
  const { stdout: printed } = await svc('sample', '-', '--days', '1', '--rows', '1')
  assert.equal(printed.trimEnd().split('\n').length, 2)
})

describe('without a cluster, the other commands say so', () => {
  const select = 'Select another home with --home.'
  const create = `Create one with ./svc up --home ${path.join(folder, 'none')}, or select another home with --home.`
  for (const [command, advice] of [
    ['down', select],
    ['status', create],
    ['logs', create],
    ['password', create],
    ['tiers', create],
    ['reset', select],
  ] as const) {
    test(`svc ${command}`, async () => {
      const none = path.join(folder, 'none')
      const { status, stderr } = await svc(command, '--home', none)
      assert.equal(stderr, `svc: There is no cluster in [${none}]. ${advice}\n`)
      assert.equal(status, 2)
      assert.equal(existsSync(path.join(folder, 'none')), false)
    })
  }
})

test('a detached cluster can be queried, prevents a second one, and can be stopped', async () => {
  const home = path.join(folder, 'detached')
  const where = ['--home', home]
  const offset = String(await pickPortOffset())
  const up = await svc(
    'up',
    ...where,
    '--port-offset',
    offset,
    '--detach',
    '--json',
    '--historicals',
    'hot=1,cold=1',
  )
  assert.equal(up.status, 0, up.stderr)
  assert.equal(up.stdout.indexOf('\n'), up.stdout.length - 1, 'one line')
  const summary = JSON.parse(up.stdout)
  assert.equal(summary.processes.length, 8)
  assert.equal(summary.processes[0].port, 9088 + Number(offset))
  assert.equal(summary.coordinatorUrl, `https://127.0.0.1:${8281 + Number(offset)}`)
  assert.equal(summary.certificate, readFileSync(summary.certificateFile, 'utf8'))
  assert.equal(summary.routerUrl, `https://127.0.0.1:${9088 + Number(offset)}`)
  assert.match(up.stderr, /^ +\d+\.\d s {2}Started historical-cold-1$/m)
  const processes = processesOf(home)

  const status = await svc('status', ...where, '--json')
  assert.equal(status.status, 0)
  const parsed: ClusterStatus = JSON.parse(status.stdout)
  assert.deepEqual(
    parsed.processes.map(({ instance, state, problem }) => [instance, state, problem]),
    [
      'router',
      'coordinator',
      'overlord',
      'broker',
      'historical-hot-1',
      'historical-cold-1',
      'postgres',
      'redis',
    ].map((instance) => [instance, 'ready', null]),
  )
  assert.match((await svc('password', ...where)).stdout, /^[\w-]{32}\n$/)
  assert.match((await svc('logs', 'historical', ...where)).stdout, /INFO {2}historical-cold-1: Ready/)

  const again = await svc('up', ...where, '--port-offset', offset)
  assert.match(
    again.stderr,
    /^svc: A cluster is already running in \[.*\] \(process \d+\)\. Stop it with \.\/svc down --home \S+, or select/,
  )
  assert.equal(again.status, 1)
  const reset = await svc('reset', ...where, '--yes')
  assert.match(reset.stderr, /is running. Stop it first/)

  assert.match((await svc('down', ...where)).stdout, /^Stopped the cluster/)
  assert.deepEqual(processes.filter(isRunning), [])
  const stopped = await svc('status', ...where)
  assert.match(stopped.stdout, /No cluster is running in \[.*\]\. Start it with \.\/svc up --home \S+\./)
  assert.equal(stopped.status, 1)
  assert.match((await svc('down', ...where)).stdout, /^No cluster is running/)
  assert.match((await svc('reset', ...where)).stderr, /without a terminal: add --yes/)
  assert.equal((await svc('reset', ...where, '--yes')).status, 0)
  assert.equal(existsSync(home), false)
})

for (const command of ['down', 'up']) {
  test(`./svc ${command} stops the processes that a killed supervisor left behind`, async () => {
    const home = path.join(folder, 'killed')
    const where = ['--home', home, '--port-offset', String(await pickPortOffset())]
    const plain = ['--profile', 'plain', '--detach']
    assert.equal((await svc('up', ...where, ...plain)).status, 0)
    const [supervisor, ...left] = processesOf(home)
    process.kill(supervisor!.pid, 'SIGKILL')
    const { stdout, status } = await svc('status', '--home', home)
    assert.match(stdout, /The supervisor of \[.*\] was killed, and its processes are still running/)
    assert.equal(status, 1)
    assert.equal(left.filter(isRunning).length, 7)
    if (command === 'up') {
      assert.match((await svc('up', ...where, ...plain)).stdout, /Stopped 7 leftover processes/)
    }
    assert.equal((await svc('down', '--home', home)).status, 0)
    assert.deepEqual(left.filter(isRunning), [])
  })
}

test('in the foreground, the first Ctrl-C stops everything in order', async () => {
  const home = path.join(folder, 'foreground')
  const child = start(['up', '--home', home, '--port-offset', String(await pickPortOffset())])
  const outcome = outcomeOf(child)
  await untilPrinted(child, 'Press Ctrl-C to stop the cluster.')
  const processes = processesOf(home)
  assert.equal(processes.filter(isRunning).length, 8)
  child.kill('SIGINT')
  const { status, stdout } = await outcome
  assert.equal(status, 0)
  assert.match(stdout, /^role +instance +URL +pid +state$/m)
  assert.match(stdout, /^Ready in \d+\.\d s: https:\/\/127\.0\.0\.1:\d+$/m)
  assert.match(stdout, /Stopping…\nStopped\.\n$/)
  assert.ok(!stdout.includes('\u001b'), 'plain text without a terminal')
  assert.deepEqual(processes.filter(isRunning), [])
})

test('a second Ctrl-C exits at once', async () => {
  const home = path.join(folder, 'foreground')
  const child = start(['up', '--home', home, '--port-offset', String(await pickPortOffset())])
  const outcome = outcomeOf(child)
  await untilPrinted(child, 'Press Ctrl-C to stop the cluster.')
  const processes = processesOf(home)
  // The first Ctrl-C would wait 10 s for a process that does not respond.
  process.kill(processes.at(-1)!.pid, 'SIGSTOP')
  child.kill('SIGINT')
  await untilPrinted(child, 'Stopping')
  child.kill('SIGINT')
  assert.equal((await outcome).status, 130)
  await waitUntil('all processes have ended', () => !processes.some(isRunning), Boolean, { pollMs: 10 })
})

test('Ctrl-C during startup leaves nothing behind', async () => {
  const home = path.join(folder, 'cut short')
  const child = start(['up', '--home', home, '--port-offset', String(await pickPortOffset())])
  const outcome = outcomeOf(child)
  await untilPrinted(child, 'Started redis')
  const processes = processesOf(home)
  child.kill('SIGINT')
  const { status, stderr } = await outcome
  assert.equal(status, 130)
  assert.match(stderr, /^svc: Interrupted by SIGINT\n$/)
  assert.deepEqual(processes.filter(isRunning), [])
  assert.equal(readRunFile(homeLayout(home)), undefined)
})

test('reports a full disk and leaves nothing running', async (context) => {
  const disk = path.join(folder, 'disk')
  mkdirSync(disk)
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=110m', 'tmpfs', disk], { stdio: 'ignore' })
  } catch {
    context.skip('requires permission to mount a small disk')
    return
  }
  context.after(() => execFileSync('umount', [disk]))
  const home = path.join(disk, 'home')
  const args = ['up', '--home', home, '--port-offset', String(await pickPortOffset())]
  // Enough space for the first check, but not for Postgres.
  mkdirSync(home)
  const filling = Buffer.alloc(85 * 1024 * 1024)
  const full = start(args)
  const outcome = outcomeOf(full)
  await waitUntil(
    'the Postgres data folder is being created',
    () => existsSync(path.join(home, 'postgres.new')),
    Boolean,
    { pollMs: 5 },
  )
  // The start must not be complete before the disk is full.
  full.kill('SIGSTOP')
  try {
    writeFileSync(path.join(disk, 'fill'), filling)
  } catch (error) {
    // The start has already taken a part of the space, so the disk is full now.
    assert.equal((error as NodeJS.ErrnoException).code, 'ENOSPC')
  }
  full.kill('SIGCONT')
  const { status, stderr } = await outcome
  assert.equal(status, 1)
  // On a busy machine, the disk may be full only after Postgres and the first servers have started, which then cannot continue.
  assert.match(
    stderr,
    /^(?:svc: No space left on the disk of \[.*\]\. Free up space, .*\n)+(?:svc: Failed to start \w+: .*\n)?$/,
  )
  assert.equal(readRunFile(homeLayout(home)), undefined)
  const refused = await svc(...args)
  // A home with a Postgres data folder needs less: the first start may have completed it before the disk was full.
  assert.match(
    refused.stderr,
    /^svc: Not enough disk space for \[.*\]: \[\d+\] MB free, at least \[(?:20|100)\] MB required/,
  )
})

describe('the script', () => {
  const sh = (script: string, PATH: string) =>
    outcomeOf(
      spawn('/bin/sh', [script, '--help'], { cwd: folder, env: { PATH }, stdio: ['ignore', 'pipe', 'pipe'] }),
    )

  /** A fresh checkout that contains only the script. */
  const checkout = path.join(folder, 'checkout')
  mkdirSync(checkout)
  cpSync(path.join(repositoryRoot, 'svc'), path.join(checkout, 'svc'))

  test('runs through a symbolic link, from any folder', async () => {
    const link = path.join(folder, 'link')
    symlinkSync(path.join(repositoryRoot, 'svc'), link)
    const { status, stdout } = await sh(link, process.env.PATH ?? '')
    assert.match(stdout, /^Usage: svc <command>/)
    assert.equal(status, 0)
  })

  /** A PATH with only the tools that the script needs. */
  function bare(name: string): string {
    const bin = path.join(folder, name)
    mkdirSync(bin)
    for (const tool of ['readlink', 'dirname', 'date', 'cat', 'cmp', 'sh']) {
      symlinkSync(
        execFileSync('/bin/sh', ['-c', `command -v ${tool}`])
          .toString()
          .trim(),
        path.join(bin, tool),
      )
    }
    return bin
  }

  test('reports a missing Node.js and where to get it', async () => {
    const { status, stderr } = await sh(path.join(checkout, 'svc'), bare('without-node'))
    assert.match(
      stderr,
      /^svc: Node\.js 20 or newer .* is required, but "node" is not on PATH\. Get it from https:\S+\n$/,
    )
    assert.equal(status, 1)
  })

  test('reports a Node.js that is too old', async () => {
    const bin = bare('old-node')
    writeFileSync(path.join(bin, 'node'), '#!/bin/sh\necho 18.19.0\n', { mode: 0o755 })
    const { status, stderr } = await sh(path.join(checkout, 'svc'), bin)
    assert.match(
      stderr,
      /^svc: Node\.js 20 or newer is required, but "node" on PATH is 18\.19\.0\. Get .*\n$/,
    )
    assert.equal(status, 1)
  })
})
