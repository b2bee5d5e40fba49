// The image with a complete cluster: starts unprivileged with a read-only root, keeps all state in one volume, restarts
// what dies, and reports invalid settings in one line.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { after, before, test } from 'node:test'
import { repositoryRoot } from '@svc/cli/home'
import { createHttpClient, freePort, type HttpClient, waitUntil } from '@svc/shared/testing'
import { jobsOf } from '../support/ci-jobs.ts'
import { runTask } from '../support/flights.ts'
import { inlineTask } from '../support/inline-task.ts'
import { assertStopsAtOnce } from './support/assert-stops-at-once.ts'
import { docker, runDocker } from './support/compose-cluster.ts'

const port = await freePort()
const name = `svc-one-${port}`
const image = `${name}:test`
const password = 'container-password'
const startTimeoutMs = 120_000
const hardened = [
  '--read-only',
  '--tmpfs',
  '/tmp',
  '--cap-drop',
  'ALL',
  '--security-opt',
  'no-new-privileges',
]

let router: HttpClient

before(async () => {
  await docker('build', '--quiet', '--tag', image, repositoryRoot)
})

after(async () => {
  router?.close()
  await runDocker(['rm', '--force', '--volumes', name])
  await runDocker(['volume', 'rm', '--force', name])
  await runDocker(['image', 'rm', '--force', image])
})

test('starts unprivileged with a read-only root, and the password from the environment is valid', async () => {
  const published = ['--publish', `127.0.0.1:${port}:9088`, '--volume', `${name}:/data`]
  const environment = ['--env', `SVC_ADMIN_PASSWORD=${password}`, '--env', 'svc_api_aliases=["druid"]']
  await docker('run', '--detach', '--name', name, ...hardened, ...published, ...environment, image)
  await untilHealthy()
  const trusted = await docker('exec', name, 'cat', '/data/.svc/pki/authority.pem')
  router = createHttpClient(`https://localhost:${port}`, { trusted, credentials: `admin:${password}` })
  assert.equal(await router.get('/status/health'), true)
  assert.deepEqual(await router.get('/druid/coordinator/v1/loadstatus'), {})
  const { status } = await router.send({ path: '/svc/coordinator/v1/loadstatus', credentials: 'admin:wrong' })
  assert.equal(status, 401)
  assert.notEqual((await docker('exec', name, 'id', '-u')).trim(), '0')
})

test('servers do not have the password in their environment', async () => {
  const script =
    'for p in /proc/[0-9]*; do grep -qz ^SVC_ADMIN_PASSWORD= $p/environ && tr "\\0" " " <$p/cmdline && echo; done; true'
  const commands = (await docker('exec', name, 'sh', '-c', script)).trim().split('\n')
  // Docker starts the first process and this shell with it.
  assert.ok(commands.some((command) => command.includes('cluster.mjs')))
  assert.deepEqual(
    commands.filter((command) =>
      /(router|coordinator|overlord|broker|historical)\.mjs|postgres|valkey/.test(command),
    ),
    [],
  )
})

test('all state survives a restart of the container', async () => {
  await runTask(router, inlineTask('kept'))
  await untilLoaded()
  await router.post('/svc/coordinator/v1/rules/kept', [
    { type: 'loadForever', tieredReplicants: { _default_tier: 1 } },
  ])
  const before = await router.get('/svc/coordinator/v1/rules')
  await docker('stop', name)
  assert.equal((await docker('inspect', '--format', '{{.State.ExitCode}}', name)).trim(), '0')
  await docker('start', name)
  await untilHealthy()
  await untilLoaded()
  assert.deepEqual(await router.get('/svc/coordinator/v1/rules'), before)
})

test('a container that is stopped while it starts exits with status 0, and the volume can be used', async () => {
  const starting = `${name}-starting`
  const volume = ['--volume', `${starting}:/data`]
  try {
    await docker('run', '--detach', '--name', starting, ...hardened, ...volume, image)
    await waitUntil(
      'the start is in progress',
      async () => await docker('logs', starting),
      (log) => /^Started /m.test(log),
      { timeoutMs: startTimeoutMs, pollMs: 20 },
    )
    await docker('stop', starting)
    assert.doesNotMatch(await docker('logs', starting), /^Ready/m)
    assert.equal((await docker('inspect', '--format', '{{.State.ExitCode}}', starting)).trim(), '0')
    await docker('start', starting)
    await untilHealthy(starting)
  } finally {
    await runDocker(['rm', '--force', '--volumes', starting])
    await runDocker(['volume', 'rm', '--force', starting])
  }
})

test('a container that is stopped before Node.js runs exits with status 0 at once', async () => {
  const early = `${name}-early`
  try {
    await docker('create', '--name', early, ...hardened, image)
    await assertStopsAtOnce(early, [0, 20, 50, 100, 200])
  } finally {
    await runDocker(['rm', '--force', '--volumes', early])
  }
})

test('a server that is killed is restarted', async () => {
  await docker('exec', name, 'sh', '-c', 'kill -9 "$(svc status --json | node -e "$0")"', pidOfOverlord)
  await waitUntil(
    'the overlord leads again',
    async () => (await router.send({ path: '/svc/indexer/v1/leader' })).status,
    (status) => status === 200,
    { timeoutMs: startTimeoutMs },
  )
  await runTask(router, inlineTask('kept'))
})

test('an unknown setting is reported in one line', async () => {
  const { status, stdout, stderr } = await runDocker(['run', '--rm', '--env', 'SVC_HISTORICAL=hot=1', image])
  assert.equal(status, 2)
  assert.equal(stdout, '')
  assert.match(stderr, /^svc: Unknown environment variable \[SVC_HISTORICAL\]: expected one of \[.*\]\n$/)
})

test('a folder for temporary files that is not writable is reported with what to do', async () => {
  const { status, stderr } = await runDocker(['run', '--rm', '--read-only', image])
  assert.equal(status, 1)
  assert.match(stderr, /^svc: Folder \[\/tmp\] is not writable: .* --tmpfs \/tmp:mode=1777\.\n$/)
})

test('an invalid value is reported with the name of its variable', async () => {
  const { status, stderr } = await runDocker(['run', '--rm', '--env', 'SVC_PROFILE=x', image])
  assert.equal(status, 2)
  assert.match(stderr, /^svc: Invalid value \[x\] for \[SVC_PROFILE\]: .*\n$/)
})

test('the image becomes healthy with the settings of the GitLab job', async () => {
  const page = readFileSync(path.join(repositoryRoot, 'docs/how-to/one-container.md'), 'utf8')
  const { client: job } = jobsOf(page).find((job) => 'client' in job) as { client: GitLabJob }
  const [service] = job.services
  const url = new URL(job.variables.DRUID_URL)
  const container = `${name}-service`
  const servicePort = await freePort()
  const environment = Object.entries(service.variables).flatMap(([key, value]) => [
    '--env',
    `${key}=${value}`,
  ])
  const published = ['--publish', `127.0.0.1:${servicePort}:${url.port}`]
  assert.equal(url.hostname, service.alias)
  assert.equal(url.port, service.variables.HEALTHCHECK_TCP_PORT)
  try {
    await docker('run', '--detach', '--name', container, ...published, ...environment, image)
    await untilHealthy(container)
    const client = createHttpClient(`http://127.0.0.1:${servicePort}`)
    assert.deepEqual(await client.get('/druid/coordinator/v1/loadstatus'), {})
    client.close()
  } finally {
    await runDocker(['rm', '--force', '--volumes', container])
  }
})

/** The parts of a job in GitLab that concern its service. */
interface GitLabJob {
  readonly services: readonly [
    { readonly alias: string; readonly variables: Readonly<Record<string, string>> },
  ]
  readonly variables: { readonly DRUID_URL: string }
}

/** Prints the process ID of the overlord from the JSON of `svc status`. */
const pidOfOverlord = `
  const { processes } = JSON.parse(require('node:fs').readFileSync(0, 'utf8'))
  console.log(processes.find(({ instance }) => instance === 'overlord').pid)`

async function untilHealthy(container = name): Promise<void> {
  await waitUntil(
    'the container is healthy',
    async () =>
      (await docker('inspect', '--format', '{{.State.Status}} {{.State.Health.Status}}', container)).trim(),
    (state) => state === 'running healthy',
    { timeoutMs: startTimeoutMs, pollMs: 200 },
  )
}

async function untilLoaded(): Promise<void> {
  await waitUntil(
    'the datasource is loaded',
    async () => {
      const { status, json } = await router.send({ path: '/svc/coordinator/v1/loadstatus' })
      return status === 200 ? (json as Record<string, number>).kept : undefined
    },
    (percent) => percent === 100,
    { timeoutMs: startTimeoutMs },
  )
}
