// Starts a cluster with each broken Druid configuration that ./svc doctor is tested with, and waits for its symptom.

import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import path from 'node:path'
import { after, describe, test } from 'node:test'
import { pickPortOffset } from '@svc/cli/cluster'
import { homeLayout, readRunFile } from '@svc/cli/home'
import { startSurroundings, type TestConfiguration, testConfigurations } from '@svc/cli/testing'
import { createHttpClient, waitUntil } from '@svc/shared/testing'
import { runSvc, svcCommand } from '../support/svc-command.ts'
import { newTestFolder, removeTestFolder } from '../support/test-folder.ts'

const folder = newTestFolder()
const surroundings = await startSurroundings(path.join(folder, 'configurations'), Date.now())
after(async () => {
  await surroundings.stop()
  removeTestFolder(folder)
})

/** A cluster that starts, or has failed to. */
interface StartingCluster {
  readonly portOffset: number
  /** What it has printed, its status, and the log of its coordinator. */
  text(): Promise<string>
  /** The status with which the router answers GET /status, or a path; 0 while there is no answer. */
  statusAt(path: string, credentials?: string): Promise<number>
  /** The exit status of `./svc up`; undefined while it runs. */
  exitStatus(): number | undefined
  stop(): Promise<void>
}

async function start(configuration: TestConfiguration): Promise<StartingCluster> {
  const { folder: config, environment, maps = [] } = surroundings.prepare(configuration)
  const home = path.join(folder, `home-of-${configuration.name}`)
  const portOffset = await pickPortOffset()
  const where = ['--home', home]
  const mapped = maps.flatMap((map) => ['--map', map])
  const up = spawn(
    svcCommand,
    ['up', ...where, '--port-offset', String(portOffset), '--config', config, ...mapped],
    { env: { ...process.env, ...environment }, stdio: ['ignore', 'pipe', 'pipe'] },
  )
  const printed: string[] = []
  for (const stream of [up.stdout, up.stderr]) stream.on('data', (chunk) => printed.push(String(chunk)))
  const ended = new Promise<void>((resolve) => up.once('exit', () => resolve()))
  return {
    portOffset,
    exitStatus: () => up.exitCode ?? undefined,
    text: async () => {
      const shown = await Promise.all([runSvc('status', ...where), runSvc('logs', 'coordinator', ...where)])
      return [...printed, ...shown.flatMap(({ stdout, stderr }) => [stdout, stderr])].join('\n')
    },
    statusAt: async (requested, credentials) => {
      const routerUrl = readRunFile(homeLayout(home))?.routerUrl
      if (routerUrl === undefined) return 0
      return await statusOf(`${routerUrl}${requested}`, credentials)
    },
    stop: () => stop(up, ended),
  }
}

async function stop(up: ChildProcess, ended: Promise<void>): Promise<void> {
  if (up.exitCode !== null) return
  up.kill('SIGINT')
  await ended
}

/** The status of an answer, over TLS with any certificate; 0 without an answer. */
async function statusOf(url: string, credentials?: string): Promise<number> {
  const { origin, pathname } = new URL(url)
  const client = createHttpClient(origin, { credentials, connection: { rejectUnauthorized: false } })
  try {
    const answer = await client.send({ path: pathname, signal: AbortSignal.timeout(5000) })
    return answer.status
  } catch {
    return 0
  } finally {
    client.close()
  }
}

const showsText =
  (pattern: (expected: string) => RegExp) => async (cluster: StartingCluster, expected: string) =>
    pattern(expected).test(await cluster.text())

const given = showsText((expected) => new RegExp(expected))

/** `./svc up` prints the findings that the doctor is expected to have, and exits without creating a home. */
const refusal = async (cluster: StartingCluster, _expected: string, { findings }: TestConfiguration) => {
  if (cluster.exitStatus() === undefined) return false
  const text = await cluster.text()
  const refused = findings.filter(({ up }) => up.startsWith('Refuses to start'))
  return (
    cluster.exitStatus() === 2 &&
    /^svc: The cluster does not start with this configuration/m.test(text) &&
    refused.length > 0 &&
    refused.every(({ code, place, up }) => text.includes(`${place}: error ${code}\n`) && text.includes(up))
  )
}

type Symptom = (
  cluster: StartingCluster,
  expected: string,
  configuration: TestConfiguration,
) => Promise<boolean>

/** How a started cluster shows each kind of symptom. */
const symptoms: Readonly<Record<string, Symptom>> = {
  refusedConfiguration: refusal,
  refusedStores: refusal,
  refusedFinding: refusal,
  notice: given,
  loginOfHistorical: showsText(() => /historical-1.*not ready.*rejected the escalator credentials/),
  loginWithDefaults: async ({ statusAt }) => (await statusAt('/status', 'admin:password1')) === 200,
  openPath: async ({ statusAt }, expected) => (await statusAt(expected)) === 200,
  openPort: async ({ portOffset }, expected) =>
    (await statusOf(`http://127.0.0.1:${Number(expected) + portOffset}/status/health`)) === 200,
  handshake: given,
  directory: async ({ statusAt }, expected) =>
    (await statusAt('/status', 'alice:alice-password')) === (expected === 'unavailable' ? 503 : 401),
}

describe('./svc up --config', () => {
  for (const configuration of testConfigurations().filter(({ kind }) => kind === 'broken'))
    test(`shows the symptom of ${configuration.name}`, async () => {
      const [[name, expected] = ['', '']] = Object.entries(configuration.symptom ?? {})
      const isShown = symptoms[name]
      assert.ok(isShown, `Unknown symptom [${name}]`)
      const cluster = await start(configuration)
      try {
        await waitUntil(
          `the symptom [${name}] of ${configuration.name}`,
          () => isShown(cluster, expected, configuration),
          (shown) => shown,
          { timeoutMs: 60_000, pollMs: 500 },
        )
      } finally {
        await cluster.stop()
      }
    })
})
