import { spawnSync } from 'node:child_process'
import { unavailable } from '@svc/domain/failure'
import type { Cluster } from '../cluster/index.ts'
import { describeMachine, medianOf } from './figures.ts'
import { withTemporaryCluster } from './temporary-cluster.ts'

/** Requests per second by target: every round, and the median. */
export type RequestFigures = Readonly<
  Record<string, { readonly rounds: readonly number[]; readonly median: number }>
>

/** Results of the request benchmark. */
export interface RequestBenchmark {
  readonly machine: string
  readonly secondsEach: number
  readonly requestsPerSecond: RequestFigures
}

const rulesPath = '/svc/coordinator/v1/rules'

// One thread and 32 keep-alive connections: the server is the bottleneck, not the client.
const wrkOptions = ['-t1', '-c32'] as const
// The JVM needs tens of thousands of requests to warm up.
const warmUpSeconds = 15

/**
 * Requests the rules with a login, from the coordinator and through the router, plain and over TLS, alternating.
 * `reference` adds URLs to the same rounds, each with name and password. Throws a Failure if wrk is missing or an answer
 * is an error.
 */
export async function benchRequests(
  rounds: number,
  secondsEach: number,
  reference: readonly string[],
  onRound: (text: string) => void,
): Promise<RequestBenchmark> {
  return await withTemporaryCluster(
    () => ({ profile: 'secure', set: ['svc.enablePlaintextPort=true'] }),
    async (cluster) => ({
      machine: describeMachine(),
      secondsEach,
      requestsPerSecond: await measureRequests(cluster, { rounds, secondsEach, reference }, onRound),
    }),
  )
}

/** Runs the rounds against a running cluster with open plaintext ports. */
export async function measureRequests(
  cluster: Cluster,
  options: { readonly rounds: number; readonly secondsEach: number; readonly reference: readonly string[] },
  onRound: (text: string) => void,
): Promise<RequestFigures> {
  const { rounds, secondsEach, reference } = options
  if (spawnSync('wrk', ['-v']).error) throw unavailable('wrk is not installed. Install the package wrk.')
  const login = `admin:${cluster.adminPassword}@`
  const targets = new Map<string, string>(
    (['coordinator', 'router'] as const).flatMap((instance) => {
      const { plaintextPort, tlsPort } = cluster.plan.services.find(
        (service) => service.instance === instance,
      )!
      return [
        [`${instance} plain`, `http://${login}127.0.0.1:${plaintextPort}${rulesPath}`],
        [`${instance} TLS`, `https://${login}127.0.0.1:${tlsPort}${rulesPath}`],
      ] as const
    }),
  )
  for (const url of reference) targets.set(`reference ${new URL(url).host}`, url)
  // A warm-up round, in which code is compiled and logins are cached.
  for (const url of targets.values()) measure(url, warmUpSeconds)
  const found = new Map<string, number[]>()
  for (let round = 1; round <= rounds; round++) {
    for (const [name, url] of targets) {
      const perSecond = measure(url, secondsEach)
      found.set(name, [...(found.get(name) ?? []), perSecond])
      onRound(`round ${round}: ${name} ${perSecond.toFixed(0)} requests/s`)
    }
  }
  return Object.fromEntries(
    [...found].map(([name, values]) => [name, { rounds: values, median: medianOf(values) }]),
  )
}

function measure(target: string, seconds: number): number {
  const url = new URL(target)
  const login = Buffer.from(`${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`)
  url.username = ''
  url.password = ''
  const header = `Authorization: Basic ${login.toString('base64')}`
  const { stdout } = spawnSync('wrk', [...wrkOptions, `-d${seconds}`, '-H', header, url.href], {
    encoding: 'utf8',
  })
  const perSecond = Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)?.[1])
  if (!(perSecond > 0) || stdout.includes('Non-2xx'))
    throw unavailable(`Unexpected responses from [${url.href}]: ${stdout}`)
  return perSecond
}
