import { mkdtempSync, rmSync } from 'node:fs'
import { Agent, type IncomingMessage, request } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { unavailable } from '@svc/domain/failure'
import { loadSettings } from '@svc/shared/config'
import { basicHeader, countNamePatternSteps, openLdapLogins } from '@svc/shared/security'
import { catastrophicExpressions, injectedNames, namesOfAttack, strayTargets } from '@svc/shared/testing'
import {
  type Cluster,
  commonPropertiesFile,
  pickPortOffset,
  runtimePropertiesFile,
  startCluster,
} from '../cluster/index.ts'
import { measureRequests, type RequestFigures } from './bench-requests.ts'
import { describeMachine, medianOf } from './figures.ts'
import { type ReferenceCluster, startReference } from './reference-cluster.ts'

/** Response times, in milliseconds. */
interface AnswerTimes {
  readonly count: number
  readonly medianMs: number
  readonly longestMs: number
}

/** Results of the security benchmark. */
export interface SecurityBenchmark {
  readonly machine: string
  /** Response times of rejected logins by reason, and the difference of the medians. */
  readonly refusedLogins: {
    readonly unknownUser: AnswerTimes
    readonly wrongPassword: AnswerTimes
    readonly differencePercent: number
  }
  /** Response times of hostile requests. */
  readonly hostileInputs: {
    /** A request of a user whose only permission has a catastrophic expression. */
    readonly expressions: AnswerTimes
    /** A user name that is an LDAP injection, verified by the sample directory. */
    readonly names: AnswerTimes
    /** A request line that is meant to confuse the router. */
    readonly targets: AnswerTimes
  }
  readonly requestsPerSecond: RequestFigures
  readonly secondsEach: number
}

const authentication = '/svc-ext/basic-security/authentication/db/MyBasicMetadataAuthenticator'
const authorization = '/svc-ext/basic-security/authorization/db/MyBasicMetadataAuthorizer'
const loginsOfEachKind = 60

/**
 * Measures the cost and resilience of security, on a cluster with the sample directory. `reference` is the folder of a
 * Druid 37 installation, which serves its rules in the same rounds. Throws a Failure if wrk is missing.
 */
export async function benchSecurity(
  options: { readonly rounds: number; readonly secondsEach: number; readonly reference: string | undefined },
  onRound: (text: string) => void,
): Promise<SecurityBenchmark> {
  const folder = mkdtempSync(path.join(tmpdir(), 'svc-bench-'))
  let cluster: Cluster | undefined
  let reference: ReferenceCluster | undefined
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  try {
    const set = ['svc.enablePlaintextPort=true', 'svc.auth.throttle.failures=0']
    const wanted = { home: path.join(folder, 'home'), profile: 'secure', ldap: true, set }
    cluster = await startCluster({ ...wanted, portOffset: await pickPortOffset(wanted) })
    const rawClient = createRawClient(cluster, agent)
    const refusedLogins = await measureLogins(rawClient)
    onRound(
      `rejected logins: unknown user ${refusedLogins.unknownUser.medianMs.toFixed(1)} ms, wrong password ${refusedLogins.wrongPassword.medianMs.toFixed(1)} ms`,
    )
    const hostileInputs = {
      expressions: await measureExpressions(rawClient),
      names: await measureNames(cluster),
      targets: await measureTargets(cluster),
    }
    for (const [kind, { longestMs }] of Object.entries(hostileInputs))
      onRound(`hostile ${kind}: at most ${longestMs.toFixed(1)} ms`)
    // Started only now, so that its startup work does not affect the response times measured before.
    if (options.reference !== undefined)
      reference = await startReference(options.reference, path.join(folder, 'reference'))
    const { rounds, secondsEach } = options
    const urls = reference?.urls ?? []
    return {
      machine: describeMachine(),
      refusedLogins,
      hostileInputs,
      secondsEach,
      requestsPerSecond: await measureRequests(cluster, { rounds, secondsEach, reference: urls }, onRound),
    }
  } finally {
    agent.destroy()
    await cluster?.stop()
    await reference?.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Sends requests to the plaintext port of the coordinator, over one connection. */
interface RawClient {
  /** Resolves with the status when the entire answer has been received. */
  request(call: {
    readonly method?: string
    readonly path: string
    readonly login?: readonly [user: string, password: string]
    readonly body?: unknown
  }): Promise<number>
}

const plainPortOf = (cluster: Cluster, instance: string): number => {
  const service = cluster.plan.services.find((one) => one.instance === instance)
  if (!service) throw unavailable(`The cluster has no [${instance}]`)
  return service.plaintextPort
}

function createRawClient(cluster: Cluster, agent: Agent): RawClient {
  const port = plainPortOf(cluster, 'coordinator')
  const admin = ['admin', cluster.adminPassword ?? ''] as const
  return {
    request: async ({ method = 'GET', path: target, login = admin, body }) => {
      const bytes = body === undefined ? undefined : Buffer.from(JSON.stringify(body))
      const headers = {
        Authorization: basicHeader(...login),
        'Content-Type': 'application/json',
        ...(bytes ? { 'Content-Length': bytes.length } : {}),
      }
      const answer = await new Promise<IncomingMessage>((resolve, reject) => {
        const sent = request({ host: '127.0.0.1', port, agent, method, path: target, headers }, resolve)
        sent.once('error', reject)
        sent.end(bytes)
      })
      for await (const _ of answer);
      return answer.statusCode ?? 0
    },
  }
}

/** Alternates the two kinds, so that other load on the machine affects both equally. */
async function measureLogins({ request }: RawClient): Promise<SecurityBenchmark['refusedLogins']> {
  const kinds = {
    unknownUser: (number: number) => [`nobody-${number}`, 'a-wrong-password'] as const,
    wrongPassword: (number: number) => ['admin', `a-wrong-password-${number}`] as const,
  }
  const times = { unknownUser: [] as number[], wrongPassword: [] as number[] }
  for (let number = -5; number < loginsOfEachKind; number++) {
    for (const kind of ['unknownUser', 'wrongPassword'] as const) {
      const tookMs = await timed(async () =>
        expectStatus(401, await request({ path: '/status', login: kinds[kind](number) })),
      )
      // The first few are a warm-up.
      if (number >= 0) times[kind].push(tookMs)
    }
  }
  const unknownUser = timesOf(times.unknownUser)
  const wrongPassword = timesOf(times.wrongPassword)
  const differencePercent =
    (Math.abs(unknownUser.medianMs - wrongPassword.medianMs) / wrongPassword.medianMs) * 100
  return { unknownUser, wrongPassword, differencePercent }
}

/** Gives a user one expression after the other as its only permission, and requests resources that barely do not match. */
async function measureExpressions({ request }: RawClient): Promise<AnswerTimes> {
  const login = ['attacker', 'a-long-password'] as const
  const change = async (method: string, target: string, body?: unknown) =>
    expectStatus(200, await request({ method, path: target, body }))
  await change('POST', `${authentication}/users/${login[0]}`)
  await change('POST', `${authentication}/users/${login[0]}/credentials`, { password: login[1] })
  await change('POST', `${authorization}/users/${login[0]}`)
  await change('POST', `${authorization}/roles/attack`)
  await change('POST', `${authorization}/users/${login[0]}/roles/attack`)
  await request({ path: '/status', login })
  const times: number[] = []
  for (const name of catastrophicExpressions) {
    const permissions = [{ resource: { type: 'DATASOURCE', name }, action: 'READ' }]
    const path = `${authorization}/roles/attack/permissions`
    if (countNamePatternSteps(name) === undefined) {
      times.push(
        await timed(async () =>
          expectStatus(400, await request({ method: 'POST', path, body: permissions })),
        ),
      )
      continue
    }
    await change('POST', path, permissions)
    for (const requested of namesOfAttack) {
      const target = `/svc/coordinator/v1/rules/${encodeURIComponent(requested)}`
      times.push(await timed(() => request({ path: target, login })))
    }
  }
  return timesOf(times)
}

async function measureNames({ home }: Cluster): Promise<AnswerTimes> {
  const files = [commonPropertiesFile(home), runtimePropertiesFile(home, 'coordinator')]
  const settings = loadSettings('coordinator', files, process.env)
  const opened = await openLdapLogins(
    settings,
    () => performance.now(),
    () => undefined,
  )
  const [logins] = opened.values()
  if (!logins) throw unavailable('The cluster has no directory')
  const times: number[] = []
  for (const name of injectedNames()) {
    times.push(
      await timed(async () => {
        const { kind } = await logins.verify(name, 'alice-password')
        if (kind === 'known') throw unavailable(`The name [${name}] was accepted`)
      }),
    )
  }
  return timesOf(times)
}

/** Sends each target in a request of the admin, who has all permissions, over a separate connection. */
async function measureTargets(cluster: Cluster): Promise<AnswerTimes> {
  const port = plainPortOf(cluster, 'router')
  const headers = `Host: x\r\nAuthorization: ${basicHeader('admin', cluster.adminPassword ?? '')}\r\nConnection: close\r\n\r\n`
  const times: number[] = []
  // A space ends a target, so the rest would not be part of it.
  const targets = strayTargets.filter((target) => target !== '' && !/\s/.test(target))
  // The first one verifies the login.
  for (const target of ['/nosuch', ...new Set(targets)]) {
    const startedAt = performance.now()
    const text = await sendBytes(port, `GET ${target} HTTP/1.1\r\n${headers}`)
    times.push(performance.now() - startedAt)
    const status = /^HTTP\/1\.1 (\d)/.exec(text)?.[1]
    const isOwnPage = target === '/status' || target === '/index.html'
    if (status === '2' && !isOwnPage)
      throw unavailable(`The target [${target}] was accepted: ${text.slice(0, 200)}`)
  }
  return timesOf(times.slice(1))
}

async function sendBytes(port: number, bytes: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  let text = ''
  socket.setEncoding('latin1').on('data', (chunk: string) => {
    text += chunk
  })
  socket.on('error', () => undefined)
  socket.write(bytes)
  await new Promise((resolve) => socket.once('close', resolve))
  return text
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now()
  await work()
  return performance.now() - startedAt
}

function expectStatus(expected: number, status: number): void {
  if (status !== expected) throw unavailable(`The response has status [${status}], expected [${expected}]`)
}

const timesOf = (times: readonly number[]): AnswerTimes => ({
  count: times.length,
  medianMs: medianOf(times),
  longestMs: Math.max(...times),
})
