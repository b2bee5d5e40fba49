// The process of one cluster that `startCluster` of the testing module starts. It receives its options over an IPC
// channel, and stops when that closes: when the test stops the cluster, or when its process ends for whatever reason.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describeError, unavailable } from '@svc/domain/failure'
import { type Cluster, type FreePortsOptions, startAtFreePorts } from '../cluster/index.ts'
import { withOptionNames } from './option-names.ts'
import { takeStartTurn } from './start-turn.ts'

/** Options that can be sent to another process. Without a home, the cluster has a temporary one. */
export type ClusterProcessOptions = Pick<
  FreePortsOptions,
  'historicals' | 'instances' | 'profile' | 'set' | 'adminPassword' | 'readyTimeoutMs'
> & { readonly home?: string | undefined }

/** What the process reports, once. */
export type ClusterProcessReport =
  | ({ readonly kind: 'ready' } & ReadyCluster)
  | { readonly kind: 'failed'; readonly message: string }

/** How to reach a cluster. */
export interface ReadyCluster {
  readonly home: string
  readonly routerUrl: string
  readonly urls: Readonly<Record<string, string>>
  readonly trusted: string | undefined
  readonly adminPassword: string | undefined
}

const stop = new AbortController()
const stopped = new Promise<void>((resolve) => {
  stop.signal.addEventListener('abort', () => resolve())
})
process.once('disconnect', () => stop.abort(unavailable('The test has ended')))
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const)
  process.on(signal, () => stop.abort(unavailable(`Interrupted by ${signal}`)))

const { home, ...options } = await new Promise<ClusterProcessOptions>((resolve) => {
  process.once('message', (message) => resolve(message as ClusterProcessOptions))
})
const temporaryHome = home === undefined ? mkdtempSync(path.join(tmpdir(), 'svc-testing-')) : undefined
let cluster: Cluster | undefined
try {
  const endTurn = await takeStartTurn(stop.signal)
  cluster = await startAtFreePorts({
    ...options,
    home: home ?? temporaryHome!,
    signal: stop.signal,
  }).finally(endTurn)
  if (cluster.notReady.length > 0) {
    const problems = cluster.notReady.map(({ instance, problem }) => `${instance}: ${problem}`)
    throw unavailable(`Some servers are not ready: ${problems.join('; ')}`)
  }
  report({ kind: 'ready', ...describe(cluster) })
  await stopped
  await end()
} catch (error) {
  await end()
  report({ kind: 'failed', message: withOptionNames(describeError(error)) })
}
if (process.connected) process.disconnect?.()

async function end(): Promise<void> {
  await cluster?.stop()
  if (temporaryHome === undefined) return
  rmSync(temporaryHome, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 })
}

function describe({ home, routerUrl, urls, trusted, adminPassword }: Cluster): ReadyCluster {
  return { home: home.root, routerUrl, urls, trusted, adminPassword }
}

function report(message: ClusterProcessReport): void {
  if (process.connected) process.send!(message)
}
