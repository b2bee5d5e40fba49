import { Failure } from '@svc/domain/failure'
import type { Election } from '@svc/shared/discovery'
import type { RequestBatch } from '@svc/shared/redis'
import type { Entry } from '../../faults/history.ts'
import { instances } from '../../faults/schedule.ts'
import type { AnsweredRequest, ElectionObserver, Environment, ServedView } from '../environment.ts'
import { Machine, Network, randomOf, Scheduler, type SimulatedProcess } from '../kernel/index.ts'
import { Store } from '../stand-ins/postgres/store.ts'
import { QueueServer } from '../stand-ins/redis/queue-server.ts'
import { type SimulatedServer, startServer } from '../stand-ins/run-service.ts'
import { deepStorageFolder, discoveryTimeoutMs, type Pace, propertiesOf, roleOf } from './layout.ts'
import { Moments } from './moments.ts'
import { Presence } from './presence.ts'
import { RequestWatch } from './request-watch.ts'

/** Something that must never happen. */
export interface Violation {
  readonly invariant: string
  readonly what: string
}

/** A line that a server logged. */
export interface LogLine {
  readonly atMs: number
  readonly instance: string
  readonly level: string
  readonly message: string
  readonly details: object
}

/** A server that takes part in an election. */
export interface ObservedElection {
  readonly process: SimulatedProcess
  readonly role: string
  readonly election: Election
}

/** Watches a cluster while it runs. */
export interface ClusterObserver {
  /** Milliseconds since the start of the history. */
  now(): number
  /** Adds an entry to the history. */
  record(entry: Entry): void
  /** Called before a server becomes the leader. */
  noteGain(process: SimulatedProcess, role: string, election: Election): void
  noteLoss(election: Election): void
  /** Called before a process is killed or hangs. */
  noteStop(process: SimulatedProcess | undefined): void
  /** Called after a process continues that hung. */
  noteContinue(process: SimulatedProcess): void
  /** Called when a bad disk may lose copies. */
  noteLostCopies(): void
  /** Whether a segment must stay in at least one cache. */
  mustKeep(segmentId: string): boolean
  /** The number of replicas of a segment below which a drop on an instance may not go. */
  minReplicas(segmentId: string, instance: string): number
}

// Others may notice late that a server announced itself in time.
const unnoticedMs = 2000

// How long the program that starts servers waits before it starts one again.
const restartMs = 1000

// Errors of a program, not of its surroundings.
const programmingError =
  /Cannot (read|set) propert|is not (a function|iterable|defined)|no stand-in|damaged file/

const allInstances = Object.values(instances).flat()

/** A cluster of simulated machines, which runs the code of the product. */
export class SimulatedCluster implements Environment {
  readonly seed: number
  readonly scheduler: Scheduler
  readonly network: Network
  readonly machines = new Map<string, Machine>()
  readonly store: Store
  readonly queues: QueueServer
  readonly servers = new Map<string, SimulatedServer>()
  /** Sends requests as users do. */
  readonly client: SimulatedProcess
  readonly logs: LogLine[] = []
  elections: ObservedElection[] = []
  readonly violations: Violation[] = []
  readonly pace: Pace
  readonly taskSeconds: number
  /** Things that a fault affects at the moment. */
  readonly faultyPlaces = new Set<string>()
  observer: ClusterObserver | undefined
  onBatch: (process: SimulatedProcess, batch: RequestBatch) => void = () => undefined
  /** What the broker believes that servers serve. */
  brokerView: ServedView | undefined
  readonly presence: Presence
  readonly requests: RequestWatch
  /** Faults that start at a certain moment. */
  readonly moments = new Moments()

  constructor(seed: number, pace: Pace) {
    this.seed = seed
    this.pace = pace
    this.taskSeconds = pace.taskSeconds
    this.scheduler = new Scheduler(seed)
    this.network = new Network(seed, this.scheduler)
    this.network.latencyMs = pace.latencyMs
    this.store = new Store(this.addMachine('postgres'))
    this.queues = new QueueServer(this.addMachine('redis'))
    const storage = this.addMachine('deep-storage')
    storage.disk.slownessMs = pace.deepStorageMs
    for (const instance of allInstances) this.addMachine(instance).mounts.set(deepStorageFolder, storage.disk)
    this.presence = new Presence(discoveryTimeoutMs(pace) - unnoticedMs, () => this.scheduler.nowMs)
    this.requests = new RequestWatch(this, this.presence)
    this.client = this.addMachine('client').start(() => undefined)
    this.store.machine.start(() => undefined)
    this.queues.machine.start(() => undefined)
  }

  /** Starts the server of an instance, or a store. */
  start(instance: string): void {
    const machine = this.machines.get(instance)!
    if (machine === this.store.machine || machine === this.queues.machine) {
      machine.start(() => undefined)
      if (machine === this.queues.machine) this.queues.start()
      return
    }
    machine.start(() => {
      const process = machine.process!
      const exit = (error: unknown): void => {
        if (error instanceof Failure) this.exit(process, error)
        else this.onUnexpected(process, error)
      }
      const server = startServer(roleOf(instance), propertiesOf(instance, this.pace), exit)
      this.servers.set(instance, server)
    })
  }

  /** Ends a process that cannot start. As in a real cluster, it is started again after a moment. */
  private exit(process: SimulatedProcess, error: Failure): void {
    const { name } = process.machine
    this.log(process, 'error', 'Exited', { error: error.message })
    this.kill(name)
    this.scheduler.schedule(restartMs, undefined, () => {
      if (process.machine.process === undefined && !this.faultyPlaces.has(name)) this.start(name)
    })
  }

  /** Kills the server of an instance, or a store. */
  kill(instance: string, losesPower = false): void {
    const machine = this.machines.get(instance)!
    this.observer?.noteStop(machine.process)
    machine.kill(losesPower)
    if (machine === this.store.machine) this.store.restart()
    if (machine === this.queues.machine) {
      this.queues.stop()
      if (losesPower) this.queues.flush()
    }
    this.servers.delete(instance)
    this.elections = this.elections.filter(({ process }) => process.isAlive)
  }

  /** Lets a process hang. */
  pause(process: SimulatedProcess): void {
    this.observer?.noteStop(process)
    process.pause()
  }

  /** Lets a process continue that hung. */
  continue(process: SimulatedProcess): void {
    process.continue()
    if (process.isAlive) this.observer?.noteContinue(process)
  }

  onUnexpected(process: SimulatedProcess, error: unknown): void {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
    this.violations.push({
      invariant: 'no server fails unexpectedly',
      what: `[${process.machine.name}] ${text}`,
    })
  }

  observeElection(process: SimulatedProcess, role: string, election: Election): ElectionObserver {
    this.elections.push({ process, role, election })
    return {
      onGain: () => {
        if (role === 'coordinator') this.requests.noteGain(process)
        this.observer?.noteGain(process, role, election)
      },
      onLoss: () => this.observer?.noteLoss(election),
    }
  }

  observeBatch(process: SimulatedProcess, batch: RequestBatch): void {
    this.onBatch(process, batch)
    this.requests.noteSent(process, batch)
    this.moments.happened('requests', process.machine.name)
  }

  observeReceived(process: SimulatedProcess, batch: RequestBatch): void {
    this.requests.noteReceived(process, batch)
    this.moments.happened('requests', process.machine.name)
  }

  observeAnswer(answered: AnsweredRequest): void {
    this.requests.noteAnswer(answered)
  }

  observeDamage({ machine }: SimulatedProcess): void {
    this.violations.push({
      invariant: 'servers check what they load',
      what: `[${machine.name}] used a damaged file`,
    })
  }

  readonly log = (process: SimulatedProcess, level: string, message: string, details: object): void => {
    const { error } = details as { readonly error?: unknown }
    if (typeof error === 'string' && programmingError.test(error))
      this.onUnexpected(process, `${message}: ${error}`)
    const { nowMs } = this.scheduler
    if (message === 'Ready')
      this.observer?.record({ type: 'ready', at: this.observer.now(), instance: process.machine.name })
    this.logs.push({ atMs: nowMs, instance: process.machine.name, level, message, details })
  }

  observeView(_process: SimulatedProcess, view: ServedView): void {
    this.brokerView = view
  }

  private addMachine(name: string): Machine {
    const machine = new Machine(this, name, randomOf(this.seed, `machine ${name}`))
    this.machines.set(name, machine)
    return machine
  }
}
