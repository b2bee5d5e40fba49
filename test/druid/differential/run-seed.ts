import type { Answer } from '@svc/shared/testing'
import { seededRandom } from '../../support/random.ts'
import { choicesFrom } from './choices.ts'
import { differences } from './differences.ts'
import type { DruidSystem, System } from './druid-system.ts'
import { type Exchange, isSame } from './exchange.ts'
import { authenticator, authorizer } from './logins.ts'
import { type DifferentialRequest, type Kind, randomRequest } from './requests.ts'
import { randomState, type State } from './state.ts'

/** Both systems. */
export interface Systems {
  readonly druid: DruidSystem
  readonly svc: System
}

/** A difference that is not in the list. */
export interface UnlistedDifference {
  readonly seed: number
  readonly exchange: Exchange
  /** The changes that it needs before it; none if it needs only the state of the seed. */
  readonly changes: readonly DifferentialRequest[]
}

/** The result of one seed. */
export interface SeedResult {
  readonly seed: number
  readonly requests: number
  /** Number of answers that differ, by the name of the listed difference. */
  readonly listed: ReadonlyMap<string, number>
  readonly unlisted: readonly UnlistedDifference[]
  /** How often a system did not settle within its runs; answers that depend on duties are not compared then. */
  readonly unsettled: number
  readonly spentMs: SpentMs
}

/** The time in milliseconds that a seed took to build its state, to run duties, and to send requests. */
export type SpentMs = Readonly<Record<'state' | 'duties' | 'requests', number>>

const dayMs = 86_400_000
const changesPerRound = 8
const readsPerRound = 12

/** Builds the state of a seed in both systems, sends them the same requests, and compares the answers. */
export async function runSeed(systems: Systems, seed: number, requests: number): Promise<SeedResult> {
  const choices = choicesFrom(seededRandom(seed))
  // The same seed has the same state all day.
  const today = Math.floor(Date.now() / dayMs) * dayMs
  const state = randomState(choices, today, systems.druid.serverNames)
  const listed = new Map<string, number>()
  const unlisted: UnlistedDifference[] = []
  let sent = 0
  let unsettled = 0
  let changes: DifferentialRequest[] = []
  const spentMs = { state: 0, duties: 0, requests: 0 }
  const measured = async <Result>(kind: keyof SpentMs, work: Promise<Result>): Promise<Result> => {
    const startedAt = performance.now()
    const result = await work
    spentMs[kind] += performance.now() - startedAt
    return result
  }

  /** Sends a request; returns whether both systems are in the same state afterward. */
  const compare = async (request: DifferentialRequest): Promise<boolean> => {
    const exchange = await measured('requests', send(systems, request, state))
    sent += 1
    const isEqual = isSame(exchange)
    const known = differences.find(({ separates, explains }) => (separates || !isEqual) && explains(exchange))
    if (isEqual && !known) return true
    if (known) listed.set(known.name, (listed.get(known.name) ?? 0) + 1)
    else unlisted.push({ seed, exchange, changes: [...changes] })
    // After a change that only one system made, later answers would differ just because of that change.
    if (known?.separates) return false
    return request.method === 'GET' || isSuccess(exchange.druid.status) === isSuccess(exchange.svc.status)
  }

  await measured('state', resetBoth(systems, state))
  while (sent < requests) {
    for (let number = 0; number < changesPerRound && sent < requests; number++) {
      const request = randomRequest(choices, state, 'change')
      if (await compare(request)) changes.push(request)
      else {
        await measured('state', resetBoth(systems, state))
        changes = []
      }
      if (choices.chance(0.4) && sent < requests) await compare(randomRequest(choices, state, 'stable'))
    }
    const [isDruidSettled, isSvcSettled] = await measured('duties', settleBoth(systems))
    if (!isDruidSettled || !isSvcSettled) unsettled += 1
    const kind: Kind = isDruidSettled && isSvcSettled ? 'settled' : 'stable'
    for (let number = 0; number < readsPerRound && sent < requests; number++)
      await compare(randomRequest(choices, state, kind))
  }
  return { seed, requests: sent, listed, unlisted, unsettled, spentMs }
}

/** Replays a difference with fewer changes before it, and returns it with the fewest that were found. */
export async function minimize(systems: Systems, found: UnlistedDifference): Promise<UnlistedDifference> {
  const { exchange, changes } = found
  for (let kept = 0; kept < changes.length; kept = kept === 0 ? 1 : kept * 2) {
    const last = kept === 0 ? [] : changes.slice(-kept)
    await resetBoth(systems, exchange.state)
    for (const change of last) await send(systems, change, exchange.state)
    const settled = await settleBoth(systems)
    const again = await send(systems, exchange.request, exchange.state)
    const isListed = differences.some((difference) => difference.explains(again))
    if (settled.every(Boolean) && !isSame(again) && !isListed)
      return { ...found, exchange: again, changes: last }
  }
  return found
}

const isSuccess = (status: number): boolean => status >= 200 && status < 300

async function send({ druid, svc }: Systems, request: DifferentialRequest, state: State): Promise<Exchange> {
  const { method, path, json, text } = request
  const sent = {
    method,
    path,
    ...(json === undefined ? {} : { json }),
    ...(text === undefined ? {} : { text, headers: { 'content-type': 'application/json' } }),
    // Both endpoints without a body require a content type in Druid.
    ...(method === 'POST' && json === undefined && text === undefined
      ? { headers: { 'content-type': 'application/json' } }
      : {}),
  }
  const [atDruid, atSvc] = await Promise.all([
    // Druid closes the connection if writing an answer fails.
    druid.send(sent).catch(failedAnswer),
    svc.send(sent),
  ])
  return { request, druid: atDruid, svc: atSvc, state }
}

const failedAnswer = (error: Error): Answer => ({
  status: 500,
  headers: {},
  text: error.message,
  json: undefined,
})

async function settleBoth({ druid, svc }: Systems): Promise<readonly [boolean, boolean]> {
  return await Promise.all([druid.settle(), svc.settle()])
}

/** One replica on the default tier, whatever the previous seed has set. */
const defaultRules = [{ type: 'loadForever', tieredReplicants: { _default_tier: 1 } }]

async function resetBoth(systems: Systems, state: State): Promise<void> {
  await Promise.all([systems.druid, systems.svc].map((system) => resetOne(system, state)))
}

async function resetOne(system: System, { servers, segments }: State): Promise<void> {
  const rules = '/druid/coordinator/v1/rules/_default'
  await system.clientOf(rules).post(rules, defaultRules)
  await clearUsers(system)
  await system.reset(servers, segments)
  // Otherwise the age of the leaders would decide when overshadowed segments become unused.
  const config = '/druid/coordinator/v1/config'
  await system.clientOf(config).post(config, { millisToWaitBeforeDeleting: 0 })
  await system.settle()
}

async function clearUsers(system: System): Promise<void> {
  const prefix = '/druid-ext/basic-security'
  const lists = [
    `${prefix}/authentication/db/${authenticator}/users`,
    `${prefix}/authorization/db/${authorizer}/users`,
    `${prefix}/authorization/db/${authorizer}/roles`,
    `${prefix}/authorization/db/${authorizer}/groupMappings`,
  ]
  for (const path of lists) {
    const client = system.clientOf(path)
    for (const name of await client.get<string[]>(path)) {
      if (!/^(admin|.*_system)$/.test(name))
        await client.send({ method: 'DELETE', path: `${path}/${encodeURIComponent(name)}` })
    }
  }
}
