import { serverNameAt } from '@svc/domain/calls'
import { type UnavailableServer, unavailableSentences } from '@svc/domain/explanation'
import { describeError, Failure } from '@svc/domain/failure'
import { type AnsweredFault, faultsPath } from '@svc/domain/faults'
import { loadSettings } from '@svc/shared/config'
import { connectToCluster } from '../client/index.ts'
import {
  type HomeLayout,
  homeArgument,
  lockHolder,
  logFile,
  processesOf,
  type RunningProcess,
  readRunFile,
} from '../home/index.ts'
import { lastErrorIn, lastLines } from '../logs/index.ts'
import { isRunning } from '../processes/index.ts'
import { fetchReadiness, isListening } from './health.ts'
import { readTrusted } from './read-trusted.ts'
import { commonPropertiesFile, runtimePropertiesFile } from './write-configuration.ts'

/** The state of one process, as `./svc status` shows it. */
export interface ProcessStatus {
  readonly role: string
  readonly instance: string
  readonly url: string
  readonly pid: number | null
  readonly state: 'ready' | 'not ready' | 'restarting' | 'stopped'
  readonly restarts: number
  readonly problem: string | null
  /** The active faults that affect it. */
  readonly faults: readonly AnsweredFault[]
}

/** The state of a cluster. */
export interface ClusterStatus {
  readonly home: string
  readonly isRunning: boolean
  readonly isReady: boolean
  readonly profile: string | null
  readonly routerUrl: string | null
  readonly supervisorPid: number | null
  /** Epoch milliseconds. */
  readonly startedAt: number | null
  readonly processes: readonly ProcessStatus[]
  /** The active faults of a simulation, including those of virtual servers. Empty if they are unknown; `problem` then says why. */
  readonly faults: readonly AnsweredFault[]
  /** A problem of the cluster itself. */
  readonly problem: string | null
}

/** Queries the state of every process of a home. */
export async function clusterStatus(home: HomeLayout): Promise<ClusterStatus> {
  const run = readRunFile(home)
  const supervisor = lockHolder(home)
  const trusted = readTrusted(home)
  const [answered, { faults, problem }] = await Promise.all([
    Promise.all(processesOf(home).map((entry) => processStatus(home, entry, trusted))),
    supervisor === undefined ? noFaults : faultsOf(home),
  ])
  const processes = answered.map((entry) => ({
    ...entry,
    faults: faults.filter((fault) => affects(fault, entry)),
  }))
  return {
    home: home.root,
    isRunning: supervisor !== undefined,
    isReady:
      supervisor !== undefined && processes.length > 0 && processes.every(({ state }) => state === 'ready'),
    profile: run?.profile ?? null,
    routerUrl: run?.routerUrl ?? null,
    supervisorPid: supervisor?.pid ?? null,
    startedAt: run?.startedAt ?? null,
    processes,
    faults,
    problem: problemOf(home, supervisor !== undefined, processes) ?? problem,
  }
}

/**
 * Returns what the cluster of a home is doing and what is holding it up, in sentences. Omits the problems of `processes`, which
 * the status shows next to each process. Returns none if the coordinator does not say: the state of its process shows why.
 */
export async function clusterWork(
  home: HomeLayout,
  processes: readonly Pick<ProcessStatus, 'url' | 'state' | 'problem'>[],
): Promise<readonly string[]> {
  try {
    const path = '/svc/coordinator/v1/cluster/explain'
    return sentencesWithoutProblemsOf(
      processes,
      (await connectToCluster(home).send('GET', path)) as ClusterAnswer,
    )
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    return []
  }
}

/**
 * Returns what a cluster says about itself, without the problems of `processes`, and without those that a server reported before
 * it became ready.
 */
export function sentencesWithoutProblemsOf(
  processes: readonly Pick<ProcessStatus, 'url' | 'state' | 'problem'>[],
  { sentences, unavailableServers = [] }: ClusterAnswer,
): readonly string[] {
  const processOf = new Map(processes.map((process) => [serverNameAt(process.url), process]))
  const isLeftOut = ({ server, state }: UnavailableServer): boolean => {
    const process = processOf.get(server)
    return Boolean(process?.problem) || (state === 'notReady' && process?.state === 'ready')
  }
  const problemSentences = new Set(unavailableSentences(unavailableServers))
  return [
    ...unavailableSentences(unavailableServers.filter((server) => !isLeftOut(server))),
    ...sentences.filter((sentence) => !problemSentences.has(sentence)),
  ]
}

/** What a cluster says about itself; the sentences also mention the servers that cannot serve. */
interface ClusterAnswer {
  readonly sentences: readonly string[]
  /** Undefined if the cluster was started by an earlier version of svc. */
  readonly unavailableServers?: readonly UnavailableServer[]
}

interface ActiveFaults {
  readonly faults: readonly AnsweredFault[]
  /** Why there may be more. */
  readonly problem: string | null
}

const noFaults: ActiveFaults = { faults: [], problem: null }

/** The active faults. Only a simulation has any. */
async function faultsOf(home: HomeLayout): Promise<ActiveFaults> {
  if (!isSimulation(home)) return noFaults
  try {
    const faults = (await connectToCluster(home).send('GET', faultsPath)) as AnsweredFault[]
    return { faults, problem: null }
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    const problem = `Failed to list the active faults: ${describeError(error)}`
    return { faults: [], problem }
  }
}

/** Whether the servers of a home are configured as a simulation. */
function isSimulation(home: HomeLayout): boolean {
  try {
    const files = [commonPropertiesFile(home), runtimePropertiesFile(home, 'coordinator')]
    return loadSettings('coordinator', files, {}).get('svc.simulation.enabled')
  } catch {
    // The servers report what is wrong with their configuration.
    return false
  }
}

const affects = ({ target }: AnsweredFault, { role, url }: Pick<ProcessStatus, 'role' | 'url'>): boolean =>
  target === role || target === serverNameAt(url)

function problemOf(
  home: HomeLayout,
  isSupervised: boolean,
  processes: readonly Pick<ProcessStatus, 'pid'>[],
): string | null {
  if (isSupervised) return null
  if (processes.some(({ pid }) => pid !== null)) {
    return `The supervisor of [${home.root}] was killed, and its processes are still running. Stop them with ./svc down${homeArgument(home.root)}, or restart the cluster with ./svc up${homeArgument(home.root)}.`
  }
  return `No cluster is running in [${home.root}]. Start it with ./svc up${homeArgument(home.root)}.`
}

async function processStatus(
  home: HomeLayout,
  entry: RunningProcess,
  trusted: string | undefined,
): Promise<Omit<ProcessStatus, 'faults'>> {
  const { role, instance, url, restarts } = entry
  const known = { role, instance, url, restarts }
  if (!entry.process || !isRunning(entry.process)) {
    const state = entry.state === 'running' ? 'stopped' : entry.state
    const problem = state === 'stopped' ? null : (lastErrorIn(lastLines(logFile(home, instance))) ?? null)
    return { ...known, pid: null, state, problem }
  }
  const { pid } = entry.process
  // The stores and the sample directory have no health endpoint.
  if (!/^https?:/.test(url)) {
    return { ...known, pid, state: (await isListening(url)) ? 'ready' : 'not ready', problem: null }
  }
  const { isHealthy, problem, isReported, isUnresponsive } = await fetchReadiness(url, trusted)
  // If it cannot be queried, for example because its certificate is invalid, its log says more. What a server that hangs once
  // logged may have been solved since.
  const logged = isReported || isUnresponsive ? undefined : lastErrorIn(lastLines(logFile(home, instance)))
  return { ...known, pid, state: isHealthy ? 'ready' : 'not ready', problem: logged ?? problem ?? null }
}
