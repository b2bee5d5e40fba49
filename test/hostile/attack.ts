import { waitUntil } from '@svc/shared/testing'
import type { SeededRandom } from '../support/random.ts'
import type { Endpoint } from '../support/route-tables.ts'
import { type HostileCase, shuffled } from './cases.ts'
import { type HealthySample, p99 } from './healthy-samples.ts'
import {
  type Baseline,
  type Findings,
  type Measured,
  maxDelayMs,
  type Problem,
  runCases,
} from './run-cases.ts'
import { type HostileWorld, type ServerReading, startHostileWorld } from './world.ts'

/** How long to measure, and where to begin. */
export interface AttackOptions {
  readonly baselineMs: number
  /** Max time after the last request until memory has settled. */
  readonly maxSettleMs: number
  /** Number of endpoints to skip, to continue a run with the same seed. */
  readonly skippedEndpoints?: number
}

/** The result of an attack. */
export interface AttackReport {
  readonly seed: number
  readonly requests: number
  readonly durationMs: number
  readonly statuses: Readonly<Record<string, number>>
  /** Event-loop delay and memory of each instance before the attack. */
  readonly baseline: Readonly<Record<string, ServerReading>>
  /** 99th percentile of the healthy user's requests, in milliseconds, by instance. */
  readonly healthyP99Ms: Readonly<Record<string, { readonly before: number; readonly during: number }>>
  /** Memory above the baseline after the attack, when it has settled, by instance. */
  readonly grownBytes: Readonly<Record<string, number>>
  /** By event-loop delay above the baseline, longest first; each endpoint and class once. */
  readonly worst: readonly (Measured & { readonly healthyMaxMs: number })[]
  readonly problems: readonly Problem[]
}

const maxHealthyP99Ms = 500
const maxGrownBytes = 100 * 1024 * 1024
const worstCount = 10

/** Starts a cluster, attacks it with cases generated from its endpoints, and reports the effects. */
export async function attack(
  groups: readonly (readonly HostileCase[])[],
  random: SeededRandom,
  { baselineMs, maxSettleMs, skippedEndpoints = 0 }: AttackOptions,
  onProgress: (text: string) => void,
): Promise<AttackReport> {
  const world = await startHostileWorld()
  try {
    const startedAt = performance.now()
    const baseline = await measureBaseline(world, baselineMs)
    const before = await world.healthyUser.report()
    const [pids, terms] = [world.pids(), await world.leaderTerms()]
    const findings: Findings = { requests: 0, measured: [], problems: [], statuses: new Map() }
    for (const [index, cases] of shuffled(groups, random).entries()) {
      if (index < skippedEndpoints) continue
      const seen = findings.measured.length
      const groupAt = performance.now()
      await world.restoreData(cases[0]?.stored)
      await runCases(world, cases, baseline, findings, ({ about, excessMs }) =>
        onProgress(`  ${Math.round(excessMs)} ms above the baseline: ${about}\n`),
      )
      const longest = Math.max(0, ...findings.measured.slice(seen).map(({ excessMs }) => excessMs))
      onProgress(
        `${index + 1} of ${groups.length}: ${nameOf(cases)}, ${cases.length} requests in ${Math.round((performance.now() - groupAt) / 1000)} s, longest delay ${Math.round(longest)} ms above the baseline\n`,
      )
    }
    const grown = await settle(world, baseline, maxSettleMs)
    const during = await world.healthyUser.stop()
    const [pidsAfter, termsAfter] = [world.pids(), await world.leaderTerms()]
    return describeAttack({
      seed: random.seed,
      durationMs: performance.now() - startedAt,
      findings,
      baseline,
      healthy: { before, during },
      grown,
      problems: [
        ...changesOf('process', pids, pidsAfter),
        ...changesOf('term of the leader', terms, termsAfter),
      ],
    })
  } finally {
    await world.end()
  }
}

const nameOf = ([first]: readonly HostileCase[]): string => {
  if (first?.stored !== undefined) return `GET requests with ${first.stored} stored`
  return first ? `${first.endpoint.role} ${first.endpoint.method} ${first.endpoint.path}` : 'nothing'
}

/** The longest delays and the memory of all instances while only the healthy user sends requests. */
async function measureBaseline(world: HostileWorld, baselineMs: number): Promise<Baseline> {
  const instances = world.cluster.plan.services.map(({ instance }) => instance)
  // The first reading loads the code that writes metrics, and starts the measurement.
  for (const instance of instances) await world.read(instance)
  await world.healthyUser.report()
  const longest = new Map<string, ServerReading>()
  const endAt = performance.now() + baselineMs
  while (performance.now() < endAt) {
    for (const instance of instances) {
      const reading = await world.read(instance)
      const known = longest.get(instance)
      longest.set(instance, {
        delayMs: Math.max(known?.delayMs ?? 0, reading.delayMs),
        residentBytes: Math.max(known?.residentBytes ?? 0, reading.residentBytes),
      })
    }
  }
  return longest
}

/** Waits until the memory of all instances is near the baseline again; returns the excess in bytes. */
async function settle(
  world: HostileWorld,
  baseline: Baseline,
  maxSettleMs: number,
): Promise<ReadonlyMap<string, number>> {
  let grown = new Map<string, number>()
  const look = async () => {
    const readings = [...baseline].map(async ([instance, { residentBytes }]) => {
      return [instance, (await world.read(instance)).residentBytes - residentBytes] as const
    })
    grown = new Map(await Promise.all(readings))
    return grown
  }
  const hasSettled = (bytes: ReadonlyMap<string, number>) =>
    [...bytes.values()].every((one) => one <= maxGrownBytes)
  await waitUntil('memory is near the baseline', look, hasSettled, {
    timeoutMs: maxSettleMs,
    pollMs: 1000,
  }).catch(() => undefined)
  return grown
}

function changesOf(
  what: string,
  before: ReadonlyMap<string, number | undefined>,
  after: ReadonlyMap<string, number | undefined>,
): Problem[] {
  return [...before]
    .filter(([name, value]) => after.get(name) !== value)
    .map(([name, value]) => ({ about: name, problem: `${what} changed from ${value} to ${after.get(name)}` }))
}

interface Seen {
  readonly seed: number
  readonly durationMs: number
  readonly findings: Findings
  readonly baseline: Baseline
  readonly healthy: { readonly before: readonly HealthySample[]; readonly during: readonly HealthySample[] }
  readonly grown: ReadonlyMap<string, number>
  readonly problems: readonly Problem[]
}

function describeAttack({
  seed,
  durationMs,
  findings,
  baseline,
  healthy,
  grown,
  problems,
}: Seen): AttackReport {
  const p99Of = (samples: readonly HealthySample[], instance: string) =>
    p99(samples.filter((sample) => sample.instance === instance).map((sample) => sample.durationMs))
  const healthyP99Ms = Object.fromEntries(
    [...baseline.keys()].map((instance) => [
      instance,
      { before: p99Of(healthy.before, instance), during: p99Of(healthy.during, instance) },
    ]),
  )
  const worst = worstOf(findings.measured).map((one) => ({
    ...one,
    healthyMaxMs: Math.max(
      0,
      ...healthy.during
        .filter(
          ({ instance, startedAtMs, durationMs: tookMs }) =>
            instance === one.instance &&
            startedAtMs < one.endedAtMs &&
            startedAtMs + tookMs > one.startedAtMs,
        )
        .map((sample) => sample.durationMs),
    ),
  }))
  const tooLong = findings.measured.filter(({ excessMs }) => excessMs > maxDelayMs)
  return {
    seed,
    requests: findings.requests,
    durationMs,
    statuses: Object.fromEntries([...findings.statuses].map(([status, count]) => [String(status), count])),
    baseline: Object.fromEntries(baseline),
    healthyP99Ms,
    grownBytes: Object.fromEntries(grown),
    worst,
    problems: [
      ...findings.problems,
      ...problems,
      ...tooLong.map(({ about, instance, excessMs }) => ({
        about,
        problem: `delays the event loop of ${instance} by ${Math.round(excessMs)} ms; expected at most ${maxDelayMs} ms`,
      })),
      ...Object.entries(healthyP99Ms)
        .filter(([, { during }]) => during > maxHealthyP99Ms)
        .map(([instance, { during }]) => ({
          about: instance,
          problem: `the 99th percentile of a healthy user is ${Math.round(during)} ms; expected at most ${maxHealthyP99Ms} ms`,
        })),
      ...[...grown]
        .filter(([, bytes]) => bytes > maxGrownBytes)
        .map(([instance, bytes]) => ({
          about: instance,
          problem: `memory is ${Math.round(bytes / 1024 / 1024)} MiB above the baseline; expected at most ${maxGrownBytes / 1024 / 1024} MiB`,
        })),
    ],
  }
}

/** The cases with the longest delays, one for each endpoint and class. */
function worstOf(measured: readonly Measured[]): Measured[] {
  const longest = new Map<string, Measured>()
  for (const one of measured) {
    const { endpoint, inputClass } = one.hostile
    const key = `${endpoint.role} ${endpoint.method} ${endpoint.path} ${inputClass.name}`
    if ((longest.get(key)?.excessMs ?? -1) < one.excessMs) longest.set(key, one)
  }
  return [...longest.values()].sort((left, right) => right.excessMs - left.excessMs).slice(0, worstCount)
}

/** The endpoints whose description contains `text`, such as `POST /svc/v2`; all if it is undefined. */
export const endpointsWith = (endpoints: readonly Endpoint[], text = ''): Endpoint[] =>
  endpoints.filter(({ role, method, path }) => `${role} ${method} ${path}`.includes(text))
