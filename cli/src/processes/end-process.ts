import { setTimeout as delay } from 'node:timers/promises'
import { isRunning, type ProcessIdentity } from './identity.ts'

const pollMs = 20

/**
 * Ends a process that is not a child of this one: sends the signal, and SIGKILL if it is still running after
 * `timeoutMs`. Returns when it has exited. Never affects another process that has the same process ID by now.
 */
export async function endProcess(
  process: ProcessIdentity,
  signal: NodeJS.Signals,
  timeoutMs: number,
): Promise<void> {
  if (!isRunning(process)) return
  send(process.pid, signal)
  if (await hasEndedWithin(process, timeoutMs)) return
  send(process.pid, 'SIGKILL')
  await hasEndedWithin(process, timeoutMs)
}

/** Waits up to `timeoutMs` until the process has exited; returns whether it has. */
export async function hasEndedWithin(process: ProcessIdentity, timeoutMs: number): Promise<boolean> {
  const deadline = performance.now() + timeoutMs
  while (isRunning(process)) {
    if (performance.now() >= deadline) return false
    await delay(pollMs)
  }
  return true
}

/** Sends a signal. A process that has already exited is not an error. A negative number means a process group. */
export function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
