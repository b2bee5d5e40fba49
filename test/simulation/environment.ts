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

/** Which segments a broker believes that a server serves. */
export interface ServedView {
  servedBy(serverName: string): ReadonlySet<string>
}

/** A request that a server has answered, with the path of its route. */
export interface AnsweredRequest {
  readonly process: SimulatedProcess
  readonly caller: SimulatedProcess
  readonly path: string
  readonly body: unknown
  readonly answer: unknown
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
  /** Called with each batch of requests that a server has received. */
  observeReceived(process: SimulatedProcess, batch: RequestBatch): void
  /** Called when a server has answered a request. */
  observeAnswer(answered: AnsweredRequest): void
  /** Called with the view that a broker has of the historicals. */
  observeView(process: SimulatedProcess, view: ServedView): void
  /** Called when a process uses a file whose content is damaged. */
  observeDamage(process: SimulatedProcess): void
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
