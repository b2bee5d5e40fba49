import { describeError, Failure } from '@svc/domain/failure'
import { loadSettings } from '@svc/shared/config'
import { connectToCluster } from '../client/index.ts'
import { type AnsweredFault, faultsPath } from '../faults/index.ts'
import {
  type HomeLayout,
  lockHolder,
  logFile,
  processesOf,
  type RunningProcess,
  readRunFile,
} from '../home/index.ts'
import { lastComplaint, lastLines } from '../logs/index.ts'
import { isRunning } from '../processes/index.ts'
import { askReadiness, isListening } from './health.ts'
import { readTrusted } from './read-trusted.ts'
import { commonPropertiesFile, runtimePropertiesFile } from './write-configuration.ts'

/** What one process does, as `./svc status` shows it. */
export interface ProcessStatus {
  readonly role: string
  readonly instance: string
  readonly url: string
  readonly pid: number | null
  readonly state: 'ready' | 'not ready' | 'restarting' | 'stopped'
  readonly restarts: number
  readonly problem: string | null
  /** What was switched on to strike it. */
  readonly faults: readonly AnsweredFault[]
}

/** What a whole cluster does. */
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
  /** The faults that are switched on in a simulation, also those of virtual servers; none where they cannot be asked for, which `problem` tells. */
  readonly faults: readonly AnsweredFault[]
  /** What is wrong with the cluster as a whole. */
  readonly problem: string | null
}

/** Asks every process of a home how it is. */
export async function clusterStatus(home: HomeLayout): Promise<ClusterStatus> {
  const run = readRunFile(home)
  const supervisor = lockHolder(home)
  const trusted = readTrusted(home)
  const [asked, { faults, trouble }] = await Promise.all([
    Promise.all(processesOf(home).map((entry) => processStatus(home, entry, trusted))),
    supervisor === undefined ? noFaults : faultsOf(home),
  ])
  const processes = asked.map((entry) => ({
    ...entry,
    faults: faults.filter((fault) => isAimedAt(fault, entry)),
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
    problem: problemOf(home, supervisor !== undefined, processes) ?? trouble,
  }
}

interface AskedFaults {
  readonly faults: readonly AnsweredFault[]
  /** Why there may be others. */
  readonly trouble: string | null
}

const noFaults: AskedFaults = { faults: [], trouble: null }

/** The faults that are on, as far as that can be asked: a cluster that is no simulation has none. */
async function faultsOf(home: HomeLayout): Promise<AskedFaults> {
  if (!isSimulation(home)) return noFaults
  try {
    const faults = (await connectToCluster(home).send('GET', faultsPath)) as AnsweredFault[]
    return { faults, trouble: null }
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    const trouble = `Which faults are on is not known, since the coordinator cannot be asked: ${describeError(error)}`
    return { faults: [], trouble }
  }
}

/** Whether the servers of a home were configured to be one. */
function isSimulation(home: HomeLayout): boolean {
  try {
    const files = [commonPropertiesFile(home), runtimePropertiesFile(home, 'coordinator')]
    return loadSettings('coordinator', files, {}).get('svc.simulation.enabled')
  } catch {
    // What is wrong with a configuration the servers tell.
    return false
  }
}

const isAimedAt = ({ target }: AnsweredFault, { role, url }: Pick<ProcessStatus, 'role' | 'url'>): boolean =>
  target === role || target === new URL(url).host

function problemOf(
  home: HomeLayout,
  isSupervised: boolean,
  processes: readonly Pick<ProcessStatus, 'pid'>[],
): string | null {
  if (isSupervised) return null
  if (processes.some(({ pid }) => pid !== null)) {
    return `The supervising process of [${home.root}] was killed and left processes behind: ./svc down ends them, ./svc up starts anew.`
  }
  return `Nothing is running in [${home.root}]. Start it with ./svc up.`
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
    const problem = state === 'stopped' ? null : (lastComplaint(lastLines(logFile(home, instance))) ?? null)
    return { ...known, pid: null, state, problem }
  }
  const { pid } = entry.process
  // The stores and the sample directory speak protocols of their own.
  if (!/^https?:/.test(url)) {
    return { ...known, pid, state: (await isListening(url)) ? 'ready' : 'not ready', problem: null }
  }
  const { isHealthy, problem, isTold } = await askReadiness(url, trusted)
  // Where it cannot be asked, as with a certificate that does not hold, its log knows more.
  const logged = isTold ? undefined : lastComplaint(lastLines(logFile(home, instance)))
  return { ...known, pid, state: isHealthy ? 'ready' : 'not ready', problem: logged ?? problem ?? null }
}
