import { setTimeout as delay } from 'node:timers/promises'
import { unavailable } from '@svc/domain/failure'
import { accessToCluster, sendRequest } from '../client/index.ts'
import { type HomeLayout, processesOf } from '../home/index.ts'

/** How a cluster did when its leading coordinator was killed, in seconds from then. */
export interface Takeover {
  /** Until another coordinator, or the same one started again, says that it leads. */
  readonly leadsSeconds: number
  /** Until that one knows of all segments where they are served. */
  readonly knowsAllSeconds: number
  /** Copies that it had loaded by then, although none were missing. */
  readonly copiesLoadedAgain: number
}

const lookPeriodMs = 100
const patienceMs = 600_000

/** Kills the coordinator that leads, and waits until another leads and `isLoaded` says so of all segments. */
export async function killLeader(
  home: HomeLayout,
  isLoaded: () => Promise<boolean>,
  signal: AbortSignal,
): Promise<Takeover> {
  const { trusted, credentials } = accessToCluster(home)
  const coordinators = processesOf(home).filter(({ role }) => role === 'coordinator')
  const ask = (url: string) => sendRequest({ url, trusted, credentials, timeoutMs: 2000 })
  const leads = async (url: string): Promise<boolean> => {
    const answer = await ask(`${url}/svc/coordinator/v1/isLeader`).catch(() => undefined)
    return answer?.status === 200
  }
  const whoLeads = async () => {
    const answers = await Promise.all(coordinators.map(({ url }) => leads(url)))
    return coordinators[answers.indexOf(true)]
  }
  const startedAt = performance.now()
  const until = async (holds: () => Promise<boolean>): Promise<number> => {
    while (!(await holds().catch(() => false))) {
      if (signal.aborted) throw unavailable('The simulation was stopped')
      if (performance.now() - startedAt > patienceMs)
        throw unavailable(`No coordinator took over within [${patienceMs}] ms after the leader was killed`)
      await delay(lookPeriodMs)
    }
    return (performance.now() - startedAt) / 1000
  }
  const leader = await whoLeads()
  if (!leader?.process) throw unavailable('No coordinator leads, so none was killed')
  process.kill(leader.process.pid, 'SIGKILL')
  const leadsSeconds = await until(async () => (await whoLeads()) !== undefined)
  const knowsAllSeconds = await until(isLoaded)
  const metrics = await ask(`${(await whoLeads())?.url}/metrics`)
  return { leadsSeconds, knowsAllSeconds, copiesLoadedAgain: countLoaded(String(metrics.body)) }
}

/** The sum of a counter over its labels. */
function countLoaded(metrics: string): number {
  const samples = metrics.matchAll(/^svc_segment_copies_loaded_total\{.*\} (\d+)$/gm)
  return [...samples].reduce((sum, [, count]) => sum + Number(count), 0)
}
