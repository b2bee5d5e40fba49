import { readdirSync } from 'node:fs'
import { setPriority } from 'node:os'

/**
 * Sets the niceness of all threads of a process; threads that it starts later inherit that of its main thread. Does nothing if
 * the process has ended.
 */
export function lowerPriority(pid: number | undefined, niceness: number): void {
  if (pid === undefined) return
  setNiceness(pid, niceness)
  // On Linux, a priority belongs to a thread. On a busy machine, even a new process has started some already.
  for (const thread of threadsOf(pid)) setNiceness(thread, niceness)
}

function threadsOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).map(Number)
  } catch {
    return []
  }
}

function setNiceness(thread: number, niceness: number): void {
  try {
    setPriority(thread, niceness)
  } catch {
    // The thread has ended.
  }
}
