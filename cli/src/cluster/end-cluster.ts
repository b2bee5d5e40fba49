import {
  addedProcesses,
  type HomeLayout,
  lockHolder,
  processesOf,
  type RunningProcess,
  removeRunFile,
} from '../home/index.ts'
import { endProcess, isRunning } from '../processes/index.ts'
import { STOP_PATIENCE_MS } from '../supervisor/index.ts'

/** What ends before what: a service that lost its store would complain, and Postgres waits for nobody. */
export const endingOrder: readonly ((role: string) => boolean)[] = [
  (role) => role !== 'redis' && role !== 'postgres',
  (role) => role === 'redis',
  (role) => role === 'postgres',
]

/** The supervising process ends three groups one after the other, each with its own patience. */
const SUPERVISOR_PATIENCE_MS = endingOrder.length * STOP_PATIENCE_MS + 5000

/** Whether a cluster of this home runs, or processes that one left behind. */
export function isAnythingRunning(home: HomeLayout): boolean {
  return lockHolder(home) !== undefined || leftovers(home).length > 0
}

/**
 * Ends all that runs in a home, whether its supervising process lives or not. Whether anything ran.
 */
export async function endCluster(home: HomeLayout): Promise<boolean> {
  // Before the stores end: their tasks are given back there.
  await Promise.all(
    addedProcesses(home).map((added) => endProcess(added.supervisor, 'SIGTERM', STOP_PATIENCE_MS)),
  )
  const supervisor = lockHolder(home)
  if (supervisor) await endProcess(supervisor, 'SIGTERM', SUPERVISOR_PATIENCE_MS)
  const ended = await endLeftovers(home)
  return supervisor !== undefined || ended > 0
}

/**
 * Ends what a supervising process left behind that was killed; returns how many processes that were. Only processes
 * that are exactly those of the run file are touched.
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
  if (process) await endProcess(process, role === 'postgres' ? 'SIGINT' : 'SIGTERM', STOP_PATIENCE_MS)
}

function leftovers(home: HomeLayout): RunningProcess[] {
  return processesOf(home).filter((entry) => entry.process && isRunning(entry.process))
}
