import { setTimeout as delay } from 'node:timers/promises'
import { isRunning, type ProcessIdentity } from './identity.ts'

const POLL_MS = 20

/**
 * Ends a process that is not our child: the signal first, SIGKILL when it still runs after `patienceMs`. Returns
 * once it is gone. A process of this number that is another one by now is left alone.
 */
export async function endProcess(
  process: ProcessIdentity,
  signal: NodeJS.Signals,
  patienceMs: number,
): Promise<void> {
  if (!isRunning(process)) return
  send(process.pid, signal)
  if (await hasEndedWithin(process, patienceMs)) return
  send(process.pid, 'SIGKILL')
  await hasEndedWithin(process, patienceMs)
}

/** Waits until the process is gone, at most `patienceMs`; whether it is. */
export async function hasEndedWithin(process: ProcessIdentity, patienceMs: number): Promise<boolean> {
  const deadline = performance.now() + patienceMs
  while (isRunning(process)) {
    if (performance.now() >= deadline) return false
    await delay(POLL_MS)
  }
  return true
}

/** Sends a signal; a process that is gone already is no error. A negative number names a process group. */
export function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
