import type { Environment } from '../environment.ts'
import { Machine, Network, randomOf, Scheduler, type SimulatedProcess } from '../kernel/index.ts'
import { Store } from '../stand-ins/postgres/store.ts'
import { QueueServer } from '../stand-ins/redis/queue-server.ts'

const maxCaseMs = 120_000

/** A simulation with the stores and some machines, for the cases of a contract. */
export function createSimulatedEnvironment(...names: string[]) {
  const seed = 1
  const scheduler = new Scheduler(seed)
  const machines = new Map<string, Machine>()
  const problems: unknown[] = []
  const addMachine = (name: string): Machine => {
    const machine = new Machine(environment, name, randomOf(seed, name))
    machines.set(name, machine)
    return machine
  }
  const parts = {
    seed,
    scheduler,
    machines,
    network: new Network(seed, scheduler),
    onUnexpected: (_process: SimulatedProcess, error: unknown) => void problems.push(error),
    observeElection: () => ({ onGain: () => undefined, onLoss: () => undefined }),
    observeBatch: () => undefined,
    observeReceived: () => undefined,
    observeAnswer: () => undefined,
    observeView: () => undefined,
    log: () => undefined,
  }
  const environment = parts as unknown as { -readonly [Key in keyof Environment]: Environment[Key] }
  environment.store = new Store(addMachine('postgres'))
  environment.queues = new QueueServer(addMachine('redis'))
  for (const name of ['server', ...names]) addMachine(name)
  for (const machine of machines.values()) machine.start(() => undefined)
  return {
    environment: environment as Environment,
    machine: (name: string) => machines.get(name)!,
    /** Runs work in the process of a machine until it is done. */
    run: async <Result>(work: () => Promise<Result>, name = 'server'): Promise<Result> => {
      let outcome: PromiseSettledResult<Result> | undefined
      machines.get(name)!.process!.later(0, () => {
        Promise.allSettled([work()]).then(([settled]) => {
          outcome = settled
        })
      })
      await scheduler.runUntil(
        () => outcome !== undefined || problems.length > 0,
        scheduler.nowMs + maxCaseMs,
      )
      if (problems.length > 0) throw problems[0]
      if (outcome === undefined) throw new Error('The case did not end')
      if (outcome.status === 'rejected') throw outcome.reason
      return outcome.value
    },
    /** Waits for some simulated time. Call it in a process. */
    pause: (ms: number, name = 'server'): Promise<void> =>
      new Promise((resolve) => machines.get(name)!.process!.later(ms, resolve)),
  }
}
