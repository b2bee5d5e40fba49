import type { Election } from '@svc/shared/discovery'
import type { RequestBatch } from '@svc/shared/redis'
import {
  currentProcess,
  type Machine,
  type Network,
  type SimulatedProcess,
  type Simulation,
} from './kernel/index.ts'
import type { Store } from './stand-ins/postgres/store.ts'
import type { QueueServer } from './stand-ins/redis/queue-server.ts'

/** Is notified of changes of leadership, before the server itself is. */
export interface ElectionObserver {
  onGain(): void
  onLoss(): void
}

/** What the stand-ins of a simulated cluster share. */
export interface Environment extends Simulation {
  readonly network: Network
  /** How long the process of a task takes to start, on average. */
  readonly taskSeconds: number
  /** All machines by name, which is also their host name. */
  readonly machines: ReadonlyMap<string, Machine>
  readonly store: Store
  readonly queues: QueueServer
  /** Called when a process takes part in an election. Returns what to call when it gains or loses leadership. */
  observeElection(process: SimulatedProcess, role: string, election: Election): ElectionObserver
  /** Called with each batch of requests that a leader is about to send. */
  observeBatch(process: SimulatedProcess, batch: RequestBatch): void
  /** Receives what servers log. */
  log(process: SimulatedProcess, level: string, message: string, details: object): void
}

/** Returns the running process. Throws outside of a simulation. */
export function runningProcess(): SimulatedProcess {
  const process = currentProcess()
  if (process === undefined) throw new Error('This code runs outside of a simulated process')
  return process
}

/** Returns the environment of a process. */
export const environmentOf = ({ machine }: SimulatedProcess): Environment => machine.simulation as Environment
