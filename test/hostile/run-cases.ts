import { describeCase, type HostileCase, maxSmallBytes } from './cases.ts'
import { type Outcome, sendCase } from './send-case.ts'
import type { HostileWorld, ServerReading } from './world.ts'

/** Max event-loop delay above the baseline, in milliseconds. */
export const maxDelayMs = 200
/** From this delay on, the requests of a window are measured in smaller windows. */
const noticedDelayMs = 100
const maxAttempts = 3
/**
 * Delays of this length are not measured a third time, or not even again, because other programs do not cause
 * them.
 */
const longDelayMs = { third: 2000, second: 10_000 } as const

const windowSize = 64
const requestsAtOnce = 4

/** The effect of a case on the servers that it passed through. */
export interface Measured {
  readonly about: string
  readonly hostile: HostileCase
  /** The server with the longest event-loop delay. */
  readonly instance: string
  /**
   * The shortest delay of all attempts, because other programs on this machine do not delay every attempt.
   */
  readonly delayMs: number
  /** The part of it above the server's baseline. */
  readonly excessMs: number
  readonly attempts: number
  readonly outcomes: readonly Outcome[]
  /** Time of the attempt with the longest delay, in milliseconds since the epoch. */
  readonly startedAtMs: number
  readonly endedAtMs: number
}

/** A violation. */
export interface Problem {
  readonly about: string
  readonly problem: string
}

/** The results so far. */
export interface Findings {
  requests: number
  readonly measured: Measured[]
  readonly problems: Problem[]
  readonly statuses: Map<number | string, number>
}

/**
 * The longest event-loop delay of each instance while only the healthy user sends requests, in milliseconds.
 */
export type Baseline = ReadonlyMap<string, ServerReading>

/** Sends all cases and measures their effect on the servers. */
export async function runCases(
  world: HostileWorld,
  cases: readonly HostileCase[],
  baseline: Baseline,
  findings: Findings,
  onTooLong: (measured: Measured) => void,
): Promise<void> {
  // Halves a window in which a server was delayed, until the delay is gone or belongs to one request.
  const runWindow = async (window: readonly HostileCase[]): Promise<void> => {
    const together = await measure(world, window, baseline, findings)
    const [hostile, ...others] = window
    if (hostile === undefined || together.excessMs < noticedDelayMs) return
    if (others.length > 0) {
      const middle = window.length >> 1
      await runWindow(window.slice(0, middle))
      await runWindow(window.slice(middle))
      return
    }
    const measured = await measureAgain(world, hostile, together, baseline, findings)
    findings.measured.push(measured)
    if (measured.excessMs > maxDelayMs) onTooLong(measured)
  }
  for (const window of windowsOf(cases)) await runWindow(window)
}

/** Groups small requests to the same server; large requests and those with several copies are sent alone. */
export function windowsOf(cases: readonly HostileCase[]): HostileCase[][] {
  const windows: HostileCase[][] = []
  const isAlone = ({ sizeBytes, copies = 1 }: HostileCase) => sizeBytes > maxSmallBytes || copies > 1
  for (const hostile of cases) {
    const last = windows.at(-1)
    const first = last?.[0]
    const fits =
      last !== undefined &&
      first !== undefined &&
      last.length < windowSize &&
      !isAlone(first) &&
      !isAlone(hostile) &&
      first.endpoint.role === hostile.endpoint.role
    if (fits) last.push(hostile)
    else windows.push([hostile])
  }
  return windows
}

type WindowReading = Omit<Measured, 'about' | 'hostile' | 'attempts'>

/** Sends a request again that delayed a server too much, because another program may have caused the delay. */
async function measureAgain(
  world: HostileWorld,
  hostile: HostileCase,
  first: WindowReading,
  baseline: Baseline,
  findings: Findings,
): Promise<Measured> {
  const readings = [first]
  const shortest = () => readings.reduce((best, one) => (one.excessMs < best.excessMs ? one : best))
  while (readings.length < maxAttempts) {
    const longMs = readings.length > 1 ? longDelayMs.third : longDelayMs.second
    const { excessMs } = shortest()
    if (excessMs <= maxDelayMs || excessMs > longMs) break
    readings.push(await measure(world, [hostile], baseline, findings))
  }
  return { about: describeCase(hostile), hostile, attempts: readings.length, ...shortest() }
}

/** Sends a group of cases and reads the delays of the servers that they pass through. */
async function measure(
  world: HostileWorld,
  window: readonly HostileCase[],
  baseline: Baseline,
  findings: Findings,
): Promise<WindowReading> {
  const instances = new Set(
    window.flatMap(({ endpoint, way }) => [
      world.instanceOf(endpoint.role),
      ...(way === 'router' ? [world.instanceOf('router')] : []),
    ]),
  )
  const before = world.pids()
  await readAll(world, instances)
  const startedAtMs = performance.timeOrigin + performance.now()
  const outcomes = await sendAll(world, window)
  const readings = await readAll(world, instances)
  await recordEnds(world, before, window, findings)
  record(window, outcomes, findings)
  const [instance, delayMs, excessMs] = [...readings]
    .map(([name, { delayMs: delay }]) => [name, delay, delay - (baseline.get(name)?.delayMs ?? 0)] as const)
    .reduce((worst, one) => (one[2] > worst[2] ? one : worst), ['', 0, Number.NEGATIVE_INFINITY] as const)
  const endedAtMs = performance.timeOrigin + performance.now()
  if (outcomes.flat().some(({ status }) => status === 200)) await cancelTasks(world, window)
  return { instance, delayMs, excessMs, outcomes: outcomes.flat(), startedAtMs, endedAtMs }
}

async function sendAll(world: HostileWorld, window: readonly HostileCase[]): Promise<Outcome[][]> {
  const outcomes: Outcome[][] = []
  const waiting = window.entries()
  const sendNext = async (): Promise<void> => {
    for (const [index, hostile] of waiting) outcomes[index] = await sendCase(world, hostile)
  }
  await Promise.all(Array.from({ length: requestsAtOnce }, sendNext))
  return outcomes
}

/**
 * The readings of instances. An instance whose process has just exited counts as not delayed, because the
 * exit itself is recorded.
 */
async function readAll(
  world: HostileWorld,
  instances: ReadonlySet<string>,
): Promise<Map<string, ServerReading>> {
  const readings = [...instances].map(async (instance) => {
    try {
      return [instance, await world.read(instance)] as const
    } catch {
      await world.cluster.waitUntilReady(instance)
      return [instance, await world.read(instance)] as const
    }
  })
  return new Map(await Promise.all(readings))
}

function record(
  window: readonly HostileCase[],
  outcomes: readonly (readonly Outcome[])[],
  findings: Findings,
): void {
  for (const [index, hostile] of window.entries()) {
    for (const { status, problem } of outcomes[index] ?? []) {
      findings.requests += 1
      findings.statuses.set(status, (findings.statuses.get(status) ?? 0) + 1)
      if (problem !== undefined) findings.problems.push({ about: describeCase(hostile), problem })
    }
  }
}

/** Records the instances whose process has exited, and waits until they are ready again. */
async function recordEnds(
  world: HostileWorld,
  before: ReadonlyMap<string, number | undefined>,
  window: readonly HostileCase[],
  findings: Findings,
): Promise<void> {
  const now = world.pids()
  for (const [instance, pid] of before) {
    if (now.get(instance) === pid) continue
    findings.problems.push({
      about: window.map(describeCase).join('; '),
      problem: `the process of ${instance} exited`,
    })
    await world.cluster.waitUntilReady(instance)
  }
}

/** Cancels the tasks that hostile requests have started, so that they do not slow down later requests. */
async function cancelTasks(world: HostileWorld, window: readonly HostileCase[]): Promise<void> {
  const submits = ({ endpoint: { role, method, path } }: HostileCase) =>
    role === 'overlord' && method === 'POST' && /\/(task|supervisor)$/.test(path)
  if (!window.some(submits)) return
  const overlord = world.cluster.at(world.instanceOf('overlord'))
  for (const state of ['pending', 'running']) {
    const tasks = await overlord.get<{ readonly id: string }[]>(`/svc/indexer/v1/tasks?state=${state}`)
    for (const { id } of tasks)
      await overlord.send({ method: 'POST', path: `/svc/indexer/v1/task/${encodeURIComponent(id)}/shutdown` })
  }
}
