import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { SeedOrder, SeedOutcome } from './worker-protocol.ts'

const workerFile = fileURLToPath(new URL('./worker.ts', import.meta.url))
// Most objects of a simulation live for a few events only: a larger space for new objects is collected less often.
const workerOptions = ['--max-semi-space-size=64']

/**
 * Simulates seeds in several processes, and calls back with each outcome, in any order. Rejects if a process ends
 * unexpectedly.
 */
export async function runSeeds(
  seeds: Iterable<number>,
  minutes: number,
  processes: number,
  onOutcome: (outcome: SeedOutcome) => void,
): Promise<void> {
  const queue = seeds[Symbol.iterator]()
  await Promise.all(Array.from({ length: processes }, () => runWorker(queue, minutes, onOutcome)))
}

async function runWorker(
  queue: Iterator<number>,
  minutes: number,
  onOutcome: (outcome: SeedOutcome) => void,
): Promise<void> {
  const child: ChildProcess = fork(workerFile, [], {
    execArgv: workerOptions,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  let current: number | undefined
  child.on('message', (message: SeedOutcome | 'ready') => {
    if (message !== 'ready') onOutcome(message)
    const next = queue.next()
    current = next.done ? undefined : next.value
    if (current === undefined) child.disconnect()
    else child.send({ seed: current, minutes } satisfies SeedOrder)
  })
  await new Promise<void>((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (status, signal) => {
      if (current === undefined) resolve()
      else reject(new Error(`Seed ${current} ended its process: ${signal ?? `exit status ${status}`}`))
    })
  })
}
