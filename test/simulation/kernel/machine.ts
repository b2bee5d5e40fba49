import { AsyncLocalStorage } from 'node:async_hooks'
import { CallbackList } from './callback-list.ts'
import { Disk } from './disk.ts'
import { type Random, randomOf } from './random.ts'
import { type EventOwner, mix, type ScheduledEvent, type Scheduler } from './scheduler.ts'

/** What all machines of a simulation share. */
export interface Simulation {
  readonly seed: number
  readonly scheduler: Scheduler
  /** Called for errors that end a process. */
  onUnexpected(process: SimulatedProcess, error: unknown): void
}

/** A machine, which runs one program at a time. It keeps its address, its disk, and its clock when the program restarts. */
export class Machine {
  readonly simulation: Simulation
  readonly name: string
  readonly disk: Disk
  readonly random: Random
  process: SimulatedProcess | undefined
  /** Disks of other machines, by the folder in which they appear. */
  readonly mounts = new Map<string, Disk>()
  /** How far the time of day is wrong. */
  clockOffsetMs = 0
  private lifetimes = 0

  constructor(simulation: Simulation, name: string, random: Random) {
    this.simulation = simulation
    this.name = name
    this.random = random
    this.disk = new Disk(random)
  }

  /** Returns the disk that contains a path. */
  diskOf(path: string): Disk {
    for (const [folder, disk] of this.mounts)
      if (path.startsWith(folder) && (path.length === folder.length || path[folder.length] === '/'))
        return disk
    return this.disk
  }

  /** Starts a program. */
  start(program: () => void): SimulatedProcess {
    const process = new SimulatedProcess(this, this.lifetimes++)
    this.process = process
    process.later(0, program)
    return process
  }

  /** Kills the program. With `losesPower`, the disk also loses some of what was not synced. */
  kill(losesPower = false): void {
    this.process?.kill()
    this.process = undefined
    if (losesPower) this.disk.losePower()
  }
}

const running = new AsyncLocalStorage<SimulatedProcess>()

/** Returns the simulated process whose code is running; undefined outside of a simulation. */
export const currentProcess = (): SimulatedProcess | undefined => running.getStore()

/**
 * One lifetime of a program on a machine. All its code runs in events. Once it is killed, none of them runs: its timers
 * never fire, and its pending promises never settle.
 */
export class SimulatedProcess implements EventOwner {
  isAlive = true
  isPaused = false
  readonly machine: Machine
  readonly salt: number
  readonly startedAtMs: number
  readonly random: Random
  private held: (() => void)[] = []
  private readonly whenKilled = new CallbackList()
  private stepsLeft = Number.POSITIVE_INFINITY
  /** Enters the context of this process, which is faster than to create it for each event. */
  private readonly inContext: (run: () => void) => void
  private whenDone: () => void = () => undefined

  constructor(machine: Machine, lifetime: number) {
    this.machine = machine
    const { seed, scheduler } = machine.simulation
    this.random = randomOf(seed, `${machine.name} ${lifetime}`)
    this.salt = mix(this.random.below(2 ** 32))
    this.startedAtMs = scheduler.nowMs
    this.inContext = running.run(this, () => AsyncLocalStorage.snapshot())
  }

  enter(run: () => void): void {
    if (this.stepsLeft <= 0) this.whenDone()
    if (!this.isAlive) return
    this.stepsLeft -= 1
    try {
      this.inContext(run)
    } catch (error) {
      this.machine.simulation.onUnexpected(this, error)
    }
  }

  /** Calls back before this process runs more than `steps` further events. */
  killAfter(steps: number, kill: () => void): void {
    this.stepsLeft = steps
    this.whenDone = kill
  }

  hold(run: () => void): void {
    this.held.push(run)
  }

  /** Runs a callback as this process after a delay. */
  later(delayMs: number, run: () => void): ScheduledEvent {
    return this.machine.simulation.scheduler.schedule(delayMs, this, run)
  }

  /** Calls back when this process is killed, until the returned function is called. */
  onKill(callback: () => void): () => void {
    return this.whenKilled.add(callback)
  }

  /** Stops this process in the middle of whatever it does. */
  kill(): void {
    if (!this.isAlive) return
    this.isAlive = false
    this.held = []
    for (const callback of this.whenKilled.takeAll()) callback()
  }

  /** Lets nothing of this process run until it continues. */
  pause(): void {
    this.isPaused = true
  }

  /** Continues with everything that was due in the meantime. */
  continue(): void {
    if (!this.isPaused) return
    this.isPaused = false
    for (const run of this.held.splice(0)) this.later(0, run)
  }
}
