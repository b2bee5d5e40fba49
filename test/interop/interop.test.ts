// Druid's Java clients work unchanged with svc.api.aliases=["druid"], with the servers directly and through the
// router: interop/Interop.java calls every method of the clients, or states why not.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { repositoryRoot } from '@svc/cli/home'
import { waitUntil } from '@svc/shared/testing'
import { flights, flightsTask, runTask } from '../support/flights.ts'
import { startTestCluster, type TestCluster } from '../support/test-cluster.ts'

const run = promisify(execFile)
const { dataSource, days } = flights
const build = path.join(repositoryRoot, '.cache/interop')
const classPathFile = path.join(build, 'class-path')

async function compile(): Promise<void> {
  mkdirSync(build, { recursive: true })
  const goals = ['compile', 'dependency:build-classpath', `-Dmdep.outputFile=${classPathFile}`]
  await run('mvn', ['-q', '-B', '-f', path.join(import.meta.dirname, 'pom.xml'), ...goals], {
    timeout: 10 * 60_000,
  }).catch((error: { stdout?: string }) => assert.fail(`Maven: ${error.stdout?.slice(0, 2000)}`))
}

/** Runs the Java program and returns its output; its exit status must be 0. */
async function callAll(args: readonly string[]): Promise<string> {
  const classPath = `${path.join(build, 'classes')}:${readFileSync(classPathFile, 'utf8').trim()}`
  const opened = ['--add-opens=java.base/java.lang=ALL-UNNAMED', '-Duser.timezone=UTC']
  const { stdout } = await run('java', [...opened, '-cp', classPath, 'interop.Interop', ...args], {
    timeout: 3 * 60_000,
  }).catch((error: { stdout?: string; stderr?: string }) =>
    assert.fail(`${error.stdout}\n${error.stderr?.slice(-2000)}`),
  )
  return stdout
}

describe("Druid's Java clients", () => {
  let cluster: TestCluster
  let ingested: string
  // A task that reads from here runs until it is canceled.
  const silent = createServer(() => undefined)
  before(async () => {
    await compile()
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
    const { port } = silent.address() as AddressInfo
    cluster = await startTestCluster({
      profile: 'plain',
      set: [
        'svc.api.aliases=["druid"]',
        `svc.ingestion.http.allowedHosts=["127.0.0.1:${port}"]`,
        'coordinator.svc.coordinator.period=PT1S',
      ],
    })
    ingested = await runTask(cluster.router, flightsTask())
    await cluster.router.post('/druid/coordinator/v1/config/compaction', {
      dataSource,
      skipOffsetFromLatest: 'P10000D',
    })
  })
  after(async () => {
    silent.closeAllConnections()
    silent.close()
    await cluster.end()
  })

  const ways = [
    { name: 'on the servers', coordinator: 'coordinator', overlord: 'overlord' },
    { name: 'through the router', coordinator: 'router', overlord: 'router' },
  ]
  for (const { name, coordinator, overlord } of ways) {
    test(`call every method ${name}`, async (context) => {
      const segments = await waitUntil(
        'compaction has all segments',
        async () => {
          const ids = await cluster.router.get<string[]>(
            `/svc/coordinator/v1/metadata/datasources/${dataSource}/segments`,
          )
          const { latestStatus } = await cluster.router.get<{
            latestStatus: { segmentCountSkipped: number }[]
          }>(`/svc/coordinator/v1/compaction/status?dataSource=${dataSource}`)
          return { stored: ids.length, counted: latestStatus[0]?.segmentCountSkipped }
        },
        ({ stored, counted }) => stored >= days - ways.length && stored === counted,
      )
      const { urls } = cluster
      const output = await callAll([
        urls[coordinator]!,
        urls[overlord]!,
        urls.coordinator!,
        urls.overlord!,
        dataSource,
        String(segments.stored),
        ingested,
        `http://127.0.0.1:${(silent.address() as AddressInfo).port}/rows.csv`,
      ])
      for (const line of output.split('\n')) context.diagnostic(line)
      assert.match(output, /^CoordinatorClient: \d+ passed, 0 failed, \d+ skipped$/m)
      assert.match(output, /^OverlordClient: \d+ passed, 0 failed, \d+ skipped$/m)
    })
  }
})
