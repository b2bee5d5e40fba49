import { type ChildProcess, spawn } from 'node:child_process'
import { lowerPriority } from '@svc/shared/runtime'
import type { TurnListener } from './active-queries.ts'

const lowestPriority = 19

/** A process that can be paused. */
interface PausableProcess {
  readonly child: ChildProcess
  /** Whether it can run another query after this one. */
  isUsable: boolean
}

/**
 * Pauses the process of a query while others have its turn. A paused process keeps its memory and uses no CPU time. If
 * this process ends meanwhile, the paused one is killed: it could not notice by itself.
 */
export function createPause(paused: PausableProcess): Omit<TurnListener, 'cpuMs'> {
  const { child } = paused
  let guard: ChildProcess | undefined
  return {
    suspend: () => {
      if (guard || child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
      child.kill('SIGSTOP')
      // It reads until its input ends, which happens when this process ends.
      guard = spawn('/bin/sh', ['-c', 'read -r _; kill -KILL "$1"', 'sh', String(child.pid)], {
        stdio: ['pipe', 'ignore', 'ignore'],
        env: {},
      })
      guard.on('error', () => undefined)
    },
    resume: () => {
      if (!guard) return
      guard.kill('SIGKILL')
      guard = undefined
      child.kill('SIGCONT')
    },
    yieldToOthers: () => {
      // A priority can be lowered but not raised again, so the process does not serve another query.
      paused.isUsable = false
      lowerPriority(child.pid, lowestPriority)
    },
  }
}
