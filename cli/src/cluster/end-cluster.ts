import {
  addedProcesses,
  type HomeLayout,
  lockHolder,
  processesOf,
  type RunningProcess,
  removeRunFile,
} from '../home/index.ts'
import { endProcess, isRunning } from '../processes/index.ts'
import { defaultStopTimeoutMs } from '../supervisor/index.ts'

/** The order in which roles stop. A service that lost its store would log errors, so the stores stop last. */
export const endingOrder: readonly ((role: string) => boolean)[] = [
  (role) => role !== 'redis' && role !== 'postgres',
  (role) => role === 'redis',
  (role) => role === 'postgres',
]

/** The supervisor stops the groups one after the other, each with its own timeout. */
const supervisorTimeoutMs = endingOrder.length * defaultStopTimeoutMs + 5000

/** Whether a cluster is running in this home, or processes that one left behind. */
export function isAnythingRunning(home: HomeLayout): boolean {
  return lockHolder(home) !== undefined || leftovers(home).length > 0
}

/**
 * Stops everything that is running in a home, even if its supervisor is gone. Returns whether anything was running.
 */
export async function endCluster(home: HomeLayout): Promise<boolean> {
  // Before the stores stop: workers return their tasks there.
  await Promise.all(
    addedProcesses(home).map((added) => endProcess(added.supervisor, 'SIGTERM', defaultStopTimeoutMs)),
  )
  const supervisor = lockHolder(home)
  if (supervisor) await endProcess(supervisor, 'SIGTERM', supervisorTimeoutMs)
  const ended = await endLeftovers(home)
  return supervisor !== undefined || ended > 0
}

/**
 * Stops the processes that a killed supervisor left behind; returns their number. Affects only the very processes that
 * the run file lists.
 */
export async function endLeftovers(home: HomeLayout): Promise<number> {
  const left = leftovers(home)
  for (const belongs of endingOrder) {
    await Promise.all(left.filter(({ role }) => belongs(role)).map(endLeftover))
  }
  removeRunFile(home)
  return left.length
}

async function endLeftover({ role, process }: RunningProcess): Promise<void> {
  if (process) await endProcess(process, role === 'postgres' ? 'SIGINT' : 'SIGTERM', defaultStopTimeoutMs)
}

function leftovers(home: HomeLayout): RunningProcess[] {
  return processesOf(home).filter((entry) => entry.process && isRunning(entry.process))
}
