// The module `testing` of the package. It is small, because the cluster runs in a process of its own: a test that blocks
// its process does not block the cluster, and a test process that is killed leaves nothing behind.
import { type ChildProcess, fork } from 'node:child_process'
import { Agent } from 'node:http'
import { Agent as TlsAgent } from 'node:https'
import { fileURLToPath } from 'node:url'
import { errorMessageOf, type ServiceAnswer, sendRequest } from '../client/index.ts'
import type { ClusterProcessOptions, ClusterProcessReport, ReadyCluster } from './cluster-process.ts'
import { environment } from './environment.ts'
import { nodeVersionProblem } from './node-version.ts'
import { optionsProblem, requestToLoad } from './options-problem.ts'
import type {
  Answer,
  Client,
  Cluster,
  ClusterOptions,
  Request,
  startCluster as StartCluster,
} from './testing-types.ts'

const clusterProcess = fileURLToPath(new URL('./cluster-process.ts', import.meta.url))
const defaultReadyTimeoutMs = 180_000
const requestTimeoutMs = 60_000
const resetPollMs = 10
const testingPath = '/svc/indexer/v1/testing'
const username = 'admin'

/** Starts a cluster for tests: see testing-types.ts. */
export const startCluster: typeof StartCluster = async (options = {}) => {
  const problem = nodeVersionProblem(process.versions.node) ?? optionsProblem(options)
  if (problem !== undefined) throw new Error(`The cluster did not start: ${problem}`)
  // Before the process starts: without them, it would never end.
  const sentOptions = processOptions(options)
  const child = fork(clusterProcess, [], {
    // Its own process group: a signal to the group of the test reaches only the test, and the cluster stops after it.
    detached: true,
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    execArgv: ['--max-semi-space-size=1'],
    env: { ...environment(), NODE_OPTIONS: undefined, NODE_V8_COVERAGE: undefined },
  })
  const exited = new Promise<void>((resolve) => {
    child.once('exit', () => resolve())
  })
  child.send(sentOptions)
  const report = await reportOf(child)
  if (report.kind === 'failed') {
    await exited
    throw new Error(`The cluster did not start: ${report.message}`)
  }
  // A test that does not stop its cluster can end, and the cluster stops with it.
  child.unref()
  child.channel?.unref()
  const { client, close } = clientOf(report)
  const { home, routerUrl, urls, trusted, adminPassword } = report
  return {
    routerUrl,
    coordinatorUrl: urls.coordinator!,
    urls,
    ca: trusted ?? '',
    admin: { username, password: adminPassword ?? '' },
    home,
    client,
    reset: () => replaceState(client, {}),
    load: async (name) => await replaceState(client, requestToLoad(name)),
    snapshot: async (name) => {
      await client.post(`${testingPath}/snapshots`, { name })
    },
    stop: async () => {
      child.ref()
      if (child.connected) child.disconnect()
      await exited
      close()
    },
  } satisfies Cluster
}

/** Replaces the state of the cluster. Returns when all servers are available again. */
async function replaceState(client: Client, request: { snapshot?: string }): Promise<void> {
  const { id } = await client.post<{ id: string }>(`${testingPath}/resets`, request)
  const deadline = performance.now() + requestTimeoutMs
  for (;;) {
    // Requests wait while the state is replaced, but a connection may break.
    const answer = await client
      .request<{ state: string; problem: string }>({ path: `${testingPath}/resets/${id}` })
      .catch(() => undefined)
    const { state, problem } = (answer?.status === 200 && answer.body) || {}
    if (state === 'SUCCESS') return
    if (state === 'FAILED') throw new Error(`The reset failed: ${problem}`)
    if (performance.now() > deadline)
      throw new Error(`The reset did not finish within ${requestTimeoutMs} ms`)
    await new Promise((resolve) => setTimeout(resolve, resetPollMs))
  }
}

function processOptions(options: ClusterOptions): ClusterProcessOptions {
  const { profile, historicals = {}, instances = {}, properties = {}, adminPassword, home } = options
  const list = (counts: object): string =>
    Object.entries(counts)
      .map(([name, count]) => `${name}=${count}`)
      .join()
  return {
    profile,
    historicals: Object.keys(historicals).length === 0 ? undefined : list(historicals),
    instances: list(instances),
    set: Object.entries({ 'svc.testing.enabled': true, ...properties }).map(
      ([name, value]) => `${name}=${typeof value === 'object' ? JSON.stringify(value) : value}`,
    ),
    adminPassword,
    home,
    readyTimeoutMs: options.readyTimeoutMs ?? defaultReadyTimeoutMs,
  }
}

async function reportOf(child: ChildProcess): Promise<ClusterProcessReport> {
  return await new Promise((resolve, reject) => {
    child.once('message', resolve)
    child.once('error', reject)
    child.once('exit', (status, signal) =>
      reject(new Error(`The cluster process exited (${signal ?? `exit status ${status}`})`)),
    )
  })
}

/** A client of the router, and how to close its connections. */
function clientOf({ routerUrl, trusted, adminPassword }: ReadyCluster): { client: Client; close(): void } {
  const agent = trusted === undefined ? new Agent({ keepAlive: true }) : new TlsAgent({ keepAlive: true })
  const admin = adminPassword === undefined ? null : { username, password: adminPassword }
  const send = async ({ path, login = admin, ...request }: Request): Promise<ServiceAnswer> =>
    await sendRequest({
      ...request,
      url: `${routerUrl}${path}`,
      trusted,
      credentials: login === null ? undefined : `${login.username}:${login.password}`,
      timeoutMs: requestTimeoutMs,
      agent,
    })
  const bodyOf = async <Body>(request: Request): Promise<Body> => {
    const answer = await send(request)
    if (answer.status >= 200 && answer.status <= 299) return answer.body as Body
    const { status, body } = answer
    const method = request.method ?? 'GET'
    const error = new Error(`${method} ${request.path}: ${errorMessageOf(answer)} (status ${status})`)
    throw Object.assign(error, { status, body })
  }
  const client: Client = {
    get: (path) => bodyOf({ path }),
    post: (path, body) => bodyOf({ method: 'POST', path, body }),
    delete: (path) => bodyOf({ method: 'DELETE', path }),
    request: async <Body>(request: Request) => (await send(request)) as Answer<Body>,
  }
  return { client, close: () => agent.destroy() }
}
