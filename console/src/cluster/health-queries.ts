import { useQuery } from '@tanstack/react-query'
import type { ServerCertificates } from '../answers/index.ts'
import { fetchJson, send } from '../session/index.ts'
import { useCaller } from './cluster-queries.ts'
import { pollMs, retryMs } from './refetching.ts'
import { refreshMs } from './refresh-ms.ts'

/** A value of a metric, with its labels. */
export interface Sample {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** The metrics of a server by name. */
export type Metrics = ReadonlyMap<string, readonly Sample[]>

// The servers whose metrics a router returns, its own included.
const metricsPaths = {
  router: '/metrics',
  coordinator: '/proxy/coordinator/metrics',
  overlord: '/proxy/overlord/metrics',
} as const

/** A server whose metrics the page can read. */
export type MeasuredRole = keyof typeof metricsPaths

/** The metrics of the router, the coordinator leader, and the overlord leader; a role is missing if it is unavailable. */
export function useMetrics() {
  const { data: caller } = useCaller()
  return useQuery({
    queryKey: ['metrics'],
    queryFn: async () => {
      const roles = Object.keys(metricsPaths) as MeasuredRole[]
      const found = await Promise.all(
        roles.map(async (role) => {
          const text = await send(metricsPaths[role]).then(
            (response) => response.text(),
            () => undefined,
          )
          return text === undefined ? [] : [[role, parseMetrics(text)] as const]
        }),
      )
      return new Map(found.flat())
    },
    enabled: caller?.state.read === true,
    // A map cannot be shared with the previous one.
    structuralSharing: false,
    refetchInterval: 4 * refreshMs,
  })
}

/** Reads metrics in the text format of Prometheus. */
function parseMetrics(text: string): Metrics {
  const metrics = new Map<string, Sample[]>()
  for (const line of text.split('\n')) {
    const found = /^(?<name>\w+)(?:\{(?<labels>.*)\})? (?<value>\S+)$/.exec(line)?.groups
    if (found === undefined) continue
    const { name = '', labels = '', value } = found
    const samples = metrics.get(name) ?? []
    samples.push({
      labels: Object.fromEntries(
        [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, label, quoted]) => [
          label,
          quoted!.replaceAll(/\\(.)/g, (_, character: string) => (character === 'n' ? '\n' : character)),
        ]),
      ),
      value: Number(value),
    })
    metrics.set(name, samples)
  }
  return metrics
}

/** A server that cannot serve. */
export interface ServerProblem {
  readonly role: string
  readonly server: string
  /** `missing` if it stopped sending heartbeats. */
  readonly state: 'notReady' | 'missing'
  readonly problem: string
}

/** The servers that report a problem or stopped responding. */
export function useServerProblems() {
  const { data: caller } = useCaller()
  return useQuery({
    queryKey: ['serverProblems'],
    queryFn: () => fetchJson<readonly ServerProblem[]>('/svc/coordinator/v1/serverProblems'),
    enabled: caller?.state.read === true,
    refetchInterval: retryMs,
  })
}

/** The certificates of all servers. */
export function useServerCertificates() {
  const { data: caller } = useCaller()
  return useQuery({
    queryKey: ['certificates'],
    queryFn: () => fetchJson<ServerCertificates>('/svc/coordinator/v1/certificates'),
    enabled: caller?.state.read === true,
    refetchInterval: pollMs,
  })
}

/** Duties that run together. */
export interface DutyGroup {
  readonly name: string
  readonly period: string
  readonly dutyNames: readonly string[]
  /** How long ago the last run ended when the page fetched it; null before the first run. */
  readonly lastRunAgeMs: number | null
  readonly avgRuntimeMillis: number
  readonly lastRunMillis: number
  readonly runs: number
  /** Number of failed runs by duty. */
  readonly failures: Readonly<Record<string, number>>
  /** Why duties failed in the last run, by duty. */
  readonly lastErrors: Readonly<Record<string, string>>
}

/** The duty groups of the coordinator leader and of the overlord leader. */
export function useDuties() {
  const { data: caller } = useCaller()
  return useQuery({
    queryKey: ['duties'],
    queryFn: async () => {
      const fetchGroups = async (path: string) => {
        const [groups, runs] = await Promise.all([
          send(path).then(dutyGroupsIn),
          fetchJson<LastDutyRuns>(`${path}/runs?count=1`),
        ])
        return groups.map((group): DutyGroup => ({ ...group, lastErrors: lastErrorsOf(group.name, runs) }))
      }
      const [coordinator, overlord] = await Promise.all([
        fetchGroups('/svc/coordinator/v1/duties'),
        fetchGroups('/svc/indexer/v1/duties'),
      ])
      return { coordinator, overlord }
    },
    enabled: caller?.state.read === true,
    refetchInterval: 4 * refreshMs,
  })
}

interface DutyStatus {
  readonly dutyGroups: readonly (Omit<DutyGroup, 'lastRunAgeMs' | 'lastErrors'> & {
    readonly lastRunEnd: string | null
  })[]
}

/** The last run of each group. */
interface LastDutyRuns {
  readonly dutyGroups: readonly {
    readonly name: string
    readonly runs: readonly {
      readonly duties: readonly { readonly duty: string; readonly error: string | null }[]
    }[]
  }[]
}

function lastErrorsOf(group: string, { dutyGroups }: LastDutyRuns): Record<string, string> {
  const [lastRun] = dutyGroups.find(({ name }) => name === group)?.runs ?? []
  return Object.fromEntries(
    (lastRun?.duties ?? []).flatMap(({ duty, error }) => (error === null ? [] : [[duty, error] as const])),
  )
}

/** Reads the duty groups. Their runs have times of the servers' own clocks. */
async function dutyGroupsIn(response: Response): Promise<Omit<DutyGroup, 'lastErrors'>[]> {
  const now = serverTime(response)
  const { dutyGroups } = (await response.json()) as DutyStatus
  return dutyGroups.map((group) => ({
    ...group,
    lastRunAgeMs: group.lastRunEnd === null ? null : now - Date.parse(group.lastRunEnd),
  }))
}

/** Returns the time of the servers' own clocks, even if the cluster has a simulated clock. */
const serverTime = (response: Response): number =>
  Date.parse(response.headers.get('date') ?? '') || Date.now()

/** A task, unfinished or finished. */
export interface TaskStatus {
  readonly id: string
  readonly type: string
  readonly dataSource: string
  readonly createdTime: string
  /** How long ago it was created when the page fetched it. */
  readonly ageMs: number
  readonly status: 'RUNNING' | 'SUCCESS' | 'FAILED'
  readonly runnerStatusCode: 'WAITING' | 'PENDING' | 'RUNNING' | 'NONE'
  readonly duration: number
  readonly errorMsg: string | null
  readonly location: { readonly host: string | null; readonly port: number; readonly tlsPort: number }
}

/** Number of the newest tasks that are listed and searched. */
export const maxListedTasks = 500

/** The latest tasks that the user may read, newest first. */
export const useTasks = (max: number, isNeeded = true) =>
  useQuery({
    queryKey: ['tasks', max],
    queryFn: async () => {
      const response = await send(`/svc/indexer/v1/tasks?max=${max}`)
      const tasks = (await response.json()) as readonly Omit<TaskStatus, 'ageMs'>[]
      const now = serverTime(response)
      return tasks.map((task): TaskStatus => ({ ...task, ageMs: now - Date.parse(task.createdTime) }))
    },
    enabled: isNeeded,
    // Events report changes, but not how old tasks become.
    refetchInterval: pollMs,
  })

/** Maximum number of unfinished tasks that are counted in each state. */
export const maxCountedTasks = 1000

/** Unfinished tasks that the user may read, by state; each number is at most `maxCountedTasks`. */
export interface UnfinishedTaskCounts {
  readonly running: number
  readonly pending: number
  readonly waiting: number
}

/** Counts the unfinished tasks that the user may read. */
export const useUnfinishedTasks = () =>
  useQuery({
    queryKey: ['unfinished tasks'],
    queryFn: async (): Promise<UnfinishedTaskCounts> => {
      const countOfState = async (state: string) =>
        (
          await fetchJson<readonly TaskStatus[]>(
            `/svc/indexer/v1/tasks?state=${state}&max=${maxCountedTasks}`,
          )
        ).length
      const [running, pending, waiting] = await Promise.all([
        countOfState('running'),
        countOfState('pending'),
        countOfState('waiting'),
      ])
      return { running, pending, waiting }
    },
    refetchInterval: retryMs,
  })
