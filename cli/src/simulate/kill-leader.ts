import { setTimeout as delay } from 'node:timers/promises'
import { cancelled, timedOut, unavailable } from '@svc/domain/failure'
import { accessToCluster, sendRequest } from '../client/index.ts'
import { type HomeLayout, processesOf } from '../home/index.ts'

/** How a cluster recovered after its coordinator leader was killed; times in seconds since then. */
export interface Takeover {
  /** Until another coordinator, or the restarted one, is the leader. */
  readonly leadsSeconds: number
  /** Until the new leader knows the locations of all segments. */
  readonly knowsAllSeconds: number
  /** Replicas that the new leader had loaded by then, although none were missing. */
  readonly copiesLoadedAgain: number
}

const pollPeriodMs = 100
const timeoutMs = 600_000

/** Kills the coordinator leader, and waits until there is a new leader and `isLoaded` returns true. */
export async function killLeader(
  home: HomeLayout,
  isLoaded: () => Promise<boolean>,
  signal: AbortSignal,
): Promise<Takeover> {
  const { trusted, credentials } = accessToCluster(home)
  const coordinators = processesOf(home).filter(({ role }) => role === 'coordinator')
  const get = (url: string) => sendRequest({ url, trusted, credentials, timeoutMs: 2000 })
  const isLeader = async (url: string): Promise<boolean> => {
    const answer = await get(`${url}/svc/coordinator/v1/isLeader`).catch(() => undefined)
    return answer?.status === 200
  }
  const findLeader = async () => {
    const answers = await Promise.all(coordinators.map(({ url }) => isLeader(url)))
    return coordinators[answers.indexOf(true)]
  }
  const startedAt = performance.now()
  const until = async (isMet: () => Promise<boolean>): Promise<number> => {
    while (!(await isMet().catch(() => false))) {
      if (signal.aborted) throw cancelled('The simulation was interrupted')
      if (performance.now() - startedAt > timeoutMs)
        throw timedOut(`No coordinator took over within [${timeoutMs}] ms after the leader was killed`)
      await delay(pollPeriodMs)
    }
    return (performance.now() - startedAt) / 1000
  }
  const leader = await findLeader()
  if (!leader?.process) throw unavailable('No coordinator is the leader, so none was killed')
  process.kill(leader.process.pid, 'SIGKILL')
  const leadsSeconds = await until(async () => (await findLeader()) !== undefined)
  const knowsAllSeconds = await until(isLoaded)
  const metrics = await get(`${(await findLeader())?.url}/metrics`)
  return { leadsSeconds, knowsAllSeconds, copiesLoadedAgain: countLoaded(String(metrics.body)) }
}

/** The sum of a counter over its labels. */
function countLoaded(metrics: string): number {
  const samples = metrics.matchAll(/^svc_segment_copies_loaded_total\{.*\} (\d+)$/gm)
  return [...samples].reduce((sum, [, count]) => sum + Number(count), 0)
}
