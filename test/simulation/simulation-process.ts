import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Mutation } from './hooks.ts'
import type { SimulationPlan } from './schedule.ts'
import type { SeedOutcome, SimulationOrder } from './worker-protocol.ts'

const compileCache = fileURLToPath(new URL('../../.cache/compile', import.meta.url))
const workerFile = fileURLToPath(new URL('./worker.ts', import.meta.url))
// Most objects of a simulation live for a few events only: a larger space for new objects is collected less often.
const workerOptions = ['--max-semi-space-size=64']

/** A process that simulates one plan at a time. */
export interface SimulationProcess {
  /** Rejects if the process ends. */
  run(plan: SimulationPlan, isTraced?: boolean): Promise<SeedOutcome>
  close(): void
}

/** Starts a process. With a mutation, it runs the product with this change. */
export function startSimulationProcess(mutation?: Mutation): SimulationProcess {
  const child = fork(workerFile, [], {
    execArgv: workerOptions,
    env: {
      // Compiling takes half of the start of a process.
      NODE_COMPILE_CACHE: compileCache,
      ...process.env,
      ...(mutation && { SVC_TEST_MUTATION: JSON.stringify(mutation) }),
    },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  let end: ((outcome: SeedOutcome) => void) | undefined
  const { promise: failed, reject } = Promise.withResolvers<never>()
  failed.catch(() => undefined)
  const ready = new Promise<void>((resolve) => {
    child.on('message', (message: SeedOutcome | 'ready') =>
      message === 'ready' ? resolve() : end?.(message),
    )
  })
  child.once('error', reject)
  child.once('exit', (status, signal) =>
    reject(new Error(`The process of the simulation ended: ${signal ?? `exit status ${status}`}`)),
  )
  return {
    run: async (plan, isTraced = false) => {
      await Promise.race([ready, failed])
      const outcome = new Promise<SeedOutcome>((resolve) => {
        end = resolve
      })
      child.send({ plan, isTraced } satisfies SimulationOrder)
      return await Promise.race([outcome, failed])
    },
    close: () => child.disconnect(),
  }
}
