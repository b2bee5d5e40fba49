import { type ChildProcess, spawn } from 'node:child_process'
import type { TurnListener } from './active-queries.ts'

/** A process that can be paused. */
interface PausableProcess {
  readonly child: ChildProcess
}

/**
 * Pauses the process of a query while others have its turn. A paused process keeps its memory and uses no CPU time. If
 * this process ends meanwhile, the paused one is killed: it could not notice by itself.
 */
export function createPause({ child }: PausableProcess): Pick<TurnListener, 'suspend' | 'resume'> {
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
  }
}
