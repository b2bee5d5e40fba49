import { setTimeout as delay } from 'node:timers/promises'
import { cancelled, timedOut, unavailable } from '@svc/domain/failure'
import { accessToCluster, sendRequest } from '../client/index.ts'
import type { Cluster } from '../cluster/index.ts'
import { processesOf, type RunningProcess } from '../home/index.ts'

/** How another coordinator took over after the leader was killed; times in seconds since then. */
export interface Takeover {
  /** Until another coordinator is the leader. */
  readonly leadsSeconds: number
  /** Until the new leader knows the locations of all segments. */
  readonly knowsAllSeconds: number
  /** Until the new leader has completed its first run of the rules. */
  readonly decidedSeconds: number
  /** Replicas that the new leader had loaded by then, although none were missing. */
  readonly copiesLoadedAgain: number
}

const pollPeriodMs = 50
const timeoutMs = 600_000

/** Kills the coordinator leader, keeps it down, and waits until another one has decided for all segments. */
export async function killLeader(
  cluster: Pick<Cluster, 'home' | 'stopInstance'>,
  datasources: number,
  signal: AbortSignal,
): Promise<Takeover> {
  const { trusted, credentials } = accessToCluster(cluster.home)
  const get = (url: string) => sendRequest({ url, trusted, credentials, timeoutMs: 2000 })
  const coordinators = processesOf(cluster.home).filter(({ role }) => role === 'coordinator')
  const findLeader = async (among: readonly RunningProcess[]) => {
    const answers = await Promise.all(
      among.map(({ url }) => get(`${url}/svc/coordinator/v1/isLeader`).catch(() => undefined)),
    )
    return among[answers.findIndex((answer) => answer?.status === 200)]
  }
  const killed = await findLeader(coordinators)
  if (!killed?.process) throw unavailable('No coordinator is the leader, so none was killed')
  const others = coordinators.filter((one) => one !== killed)
  const startedAt = performance.now()
  process.kill(killed.process.pid, 'SIGKILL')
  await cluster.stopInstance(killed.instance)

  /** Returns the result of `check` once there is one, and the time until then. */
  const until = async <Result>(check: () => Promise<Result | undefined>) => {
    for (;;) {
      const result = await check().catch(() => undefined)
      if (result !== undefined) return { result, seconds: (performance.now() - startedAt) / 1000 }
      if (signal.aborted) throw cancelled('The simulation was interrupted')
      if (performance.now() - startedAt > timeoutMs)
        throw timedOut(`No coordinator took over within [${timeoutMs}] ms after the leader was killed`)
      await delay(pollPeriodMs)
    }
  }
  const leads = await until(() => findLeader(others))
  const { url } = leads.result
  const knowsAll = await until(async () => {
    const { status, body } = await get(`${url}/svc/coordinator/v1/loadstatus?simple`)
    return status === 200 && areAllLoaded(body as Record<string, number>, datasources) ? true : undefined
  })
  const decided = await until(async () => {
    const metrics = String((await get(`${url}/metrics`)).body)
    return sumOf(metrics, /^svc_duty_runs_total\{.*duty="runRules".*\} (\d+)$/gm) > 0 ? metrics : undefined
  })
  return {
    leadsSeconds: leads.seconds,
    knowsAllSeconds: knowsAll.seconds,
    decidedSeconds: decided.seconds,
    copiesLoadedAgain: sumOf(decided.result, /^svc_segment_copies_loaded_total\{.*\} (\d+)$/gm),
  }
}

/** Whether a simple load status has that number of datasources, with no segments left to load. */
export function areAllLoaded(status: Readonly<Record<string, number>>, datasources: number): boolean {
  return Object.keys(status).length === datasources && Object.values(status).every((left) => left === 0)
}

/** The sum of the samples that a pattern finds in metrics; its first group is the value. */
function sumOf(metrics: string, samples: RegExp): number {
  return [...metrics.matchAll(samples)].reduce((sum, [, value]) => sum + Number(value), 0)
}
