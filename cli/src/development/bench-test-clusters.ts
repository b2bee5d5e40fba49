import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { connect } from 'node:net'
import path from 'node:path'
import { unavailable } from '@svc/domain/failure'
import { repositoryRoot } from '../home/index.ts'
import type { Cluster, startCluster as StartCluster } from '../npm-package/index.ts'
import { describeMachine, medianOf } from './figures.ts'

/** Results of the benchmark of clusters for tests. */
export interface TestClustersBenchmark {
  readonly machine: string
  /** Clusters that started at the same time, and seconds until all were ready and until all had stopped. */
  readonly parallel: {
    readonly clusters: number
    readonly startSeconds: number
    readonly stopSeconds: number
  }
  /** Milliseconds of `reset()` after rules, users, and a task. */
  readonly reset: {
    readonly rounds: number
    readonly median: number
    readonly p95: number
    readonly max: number
  }
}

/**
 * Starts clusters at the same time with the module for tests, checks that they share nothing and leave nothing behind,
 * and measures resets of another one.
 */
export async function benchTestClusters(
  clusters: number,
  rounds: number,
  onProgress: (text: string) => void,
): Promise<TestClustersBenchmark> {
  const module = path.join(repositoryRoot, 'cli/src/npm-package/testing.ts')
  const { startCluster } = (await import(module)) as { startCluster: typeof StartCluster }
  const parallel = await startAndStop(startCluster, clusters, onProgress)
  const reset = await measureResets(await startCluster(), rounds)
  return { machine: describeMachine(), parallel, reset }
}

async function startAndStop(
  startCluster: typeof StartCluster,
  count: number,
  onProgress: (text: string) => void,
) {
  const startedAt = performance.now()
  const results = await Promise.allSettled(Array.from({ length: count }, () => startCluster()))
  const startSeconds = (performance.now() - startedAt) / 1000
  const started = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
  onProgress(`${started.length} of ${count} clusters started in ${startSeconds.toFixed(1)} s`)
  const ports = started.flatMap(portsOf)
  const stoppedAt = performance.now()
  await Promise.all(started.map((cluster) => cluster.stop()))
  const stopSeconds = (performance.now() - stoppedAt) / 1000
  onProgress(`all clusters stopped in ${stopSeconds.toFixed(1)} s`)
  const failed = results.find((result) => result.status === 'rejected')
  if (failed) throw failed.reason
  if (new Set(ports).size < ports.length) throw unavailable(`Clusters share ports: ${ports.sort().join(' ')}`)
  await assertNothingLeft(started, ports)
  return { clusters: count, startSeconds, stopSeconds }
}

/** The ports of the servers and the stores of a cluster. */
function portsOf({ home, urls }: Cluster): number[] {
  const properties = readFileSync(`${home}/conf/common.runtime.properties`, 'utf8')
  const stores = [
    ...properties.matchAll(/^svc\.(?:metadata\.storage\.connector|queue\.redis)\.port=(\d+)$/gm),
  ]
  return [
    ...Object.values(urls).map((url) => Number(new URL(url).port)),
    ...stores.map(([, port]) => Number(port)),
  ]
}

/** Throws if a process, a folder, or an open port of stopped clusters is left. */
async function assertNothingLeft(clusters: readonly Cluster[], ports: readonly number[]): Promise<void> {
  const homes = clusters.map(({ home }) => home)
  const commandLines = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(commandLineOf)
  const processes = commandLines.filter((line) => homes.some((home) => line.includes(home)))
  const folders = homes.filter((home) => existsSync(home))
  const open = (await Promise.all(ports.map(async (port) => ((await isOpen(port)) ? [port] : [])))).flat()
  const left = [...processes, ...folders, ...open]
  if (left.length > 0)
    throw unavailable(`Stopped clusters left processes, folders, or open ports behind: ${left.join(', ')}`)
}

function commandLineOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
  } catch {
    return ''
  }
}

const isOpen = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.on('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.on('error', () => resolve(false))
  })

async function measureResets(cluster: Cluster, rounds: number) {
  const times: number[] = []
  try {
    for (let round = 0; round < rounds; round++) {
      await changeState(cluster)
      const startedAt = performance.now()
      await cluster.reset()
      times.push(performance.now() - startedAt)
    }
  } finally {
    await cluster.stop()
  }
  const sorted = times.toSorted((a, b) => a - b).map(Math.round)
  const p95 = sorted[Math.ceil(sorted.length * 0.95) - 1] ?? 0
  return { rounds, median: medianOf(sorted), p95, max: sorted.at(-1) ?? 0 }
}

/** Rules, a user, and a segment. */
async function changeState({ client }: Cluster): Promise<void> {
  await client.post('/svc/coordinator/v1/rules/flights', [{ type: 'loadForever' }])
  await client.post(
    '/proxy/coordinator/svc-ext/basic-security/authentication/db/MyBasicMetadataAuthenticator/users/ann',
    {},
  )
  const { task } = await client.post<{ task: string }>('/svc/indexer/v1/task', {
    type: 'index_parallel',
    spec: {
      dataSchema: {
        dataSource: 'flights',
        timestampSpec: { column: 't', format: 'iso' },
        dimensionsSpec: { dimensions: ['d'] },
        granularitySpec: { segmentGranularity: 'DAY', queryGranularity: 'NONE', rollup: false },
      },
      ioConfig: {
        type: 'index_parallel',
        inputSource: { type: 'inline', data: '{"t":"2026-01-01T00:00:00Z","d":"x"}' },
        inputFormat: { type: 'json' },
      },
    },
  })
  for (;;) {
    const { status } = await client.get<{ status: { statusCode: string } }>(
      `/svc/indexer/v1/task/${task}/status`,
    )
    if (status.statusCode === 'SUCCESS') return
    if (status.statusCode === 'FAILED') throw unavailable(`Task [${task}] failed`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
