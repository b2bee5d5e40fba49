import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync, renameSync, statSync } from 'node:fs'
import { identify, type ProcessIdentity, send } from '../processes/index.ts'
import { restartDelayMs } from './restart-delay.ts'

/** How to run one process and how to end it. */
export interface ProcessSpec {
  readonly instance: string
  readonly file: string
  readonly args: readonly string[]
  readonly env?: NodeJS.ProcessEnv
  readonly cwd: string
  /** The user and group to run as, when not our own. */
  readonly uid?: number
  readonly gid?: number
  /** Name of the program that runs in the end, for telling the process from another of the same number. */
  readonly program: string
  /** Takes all that the process prints. */
  readonly logFile: string
  /** Asks for the end; SIGKILL follows when that takes longer than `STOP_PATIENCE_MS`. */
  readonly stopSignal: NodeJS.Signals
}

/** How one life of a process ended. */
export interface ProcessEnd {
  readonly instance: string
  /** Such as `exit status 1`, `signal SIGKILL`, `cannot be started: spawn x ENOENT`. */
  readonly reason: string
  /** The exit status; undefined when a signal ended it or it never ran. */
  readonly status: number | undefined
  readonly livedMs: number
  /** When it is started again; undefined when it stays down because it was stopped. */
  readonly restartDelayMs: number | undefined
}

/** What a supervisor tells while it works. */
export interface SupervisorEvents {
  readonly onStart?: (instance: string, process: ProcessIdentity) => void
  readonly onEnd?: (end: ProcessEnd) => void
}

/** A process has this long to end by itself; services promise 10 s. */
export const STOP_PATIENCE_MS = 10_000

/** A log that has grown beyond this is set aside, as `<name>.1`, when its process starts. */
const LOG_LIMIT_BYTES = 16 * 1024 * 1024

interface Supervised {
  readonly spec: ProcessSpec
  child: ChildProcess | undefined
  identity: ProcessIdentity | undefined
  startedAt: number
  lastDelayMs: number | undefined
  timer: NodeJS.Timeout | undefined
  restarts: number
  isStopping: boolean
  /** Resolves when the present life is over. */
  ended: Promise<void>
}

/** Runs processes until they are stopped. */
export class Supervisor {
  readonly #events: SupervisorEvents
  readonly #stopPatienceMs: number
  readonly #supervised = new Map<string, Supervised>()
  readonly #killAll = () => this.killAll()

  constructor(events: SupervisorEvents = {}, stopPatienceMs = STOP_PATIENCE_MS) {
    this.#events = events
    this.#stopPatienceMs = stopPatienceMs
    // Whatever ends this process in an orderly way takes its children along.
    process.once('exit', this.#killAll)
  }

  /** Starts a process and keeps it running from now on. */
  start(spec: ProcessSpec): void {
    const entry: Supervised = {
      spec,
      child: undefined,
      identity: undefined,
      startedAt: 0,
      lastDelayMs: undefined,
      timer: undefined,
      restarts: 0,
      isStopping: false,
      ended: Promise.resolve(),
    }
    this.#supervised.set(spec.instance, entry)
    this.#spawn(entry)
  }

  /** The process of an instance that runs now. */
  identityOf(instance: string): ProcessIdentity | undefined {
    return this.#supervised.get(instance)?.identity
  }

  /** How often an instance was started again. */
  restartsOf(instance: string): number {
    return this.#supervised.get(instance)?.restarts ?? 0
  }

  /** Sends a signal that ends the process of an instance and waits until it is gone; it is then started again. */
  async kill(instance: string, signal: NodeJS.Signals): Promise<void> {
    const entry = this.#supervised.get(instance)
    if (entry?.child?.pid === undefined) return
    send(entry.child.pid, signal)
    await entry.ended
  }

  /** Ends processes at once and for good; returns when they are gone. Unknown names are no error. */
  async stop(instances: readonly string[]): Promise<void> {
    await Promise.all(instances.map((instance) => this.#stopOne(instance)))
  }

  /** Ends everything without asking, for a process that has no time left. */
  killAll(): void {
    for (const entry of this.#supervised.values()) {
      entry.isStopping = true
      clearTimeout(entry.timer)
      if (entry.child?.pid !== undefined) sendToGroup(entry.child.pid, 'SIGKILL')
    }
  }

  /** Forgets everything; for when all is stopped. */
  close(): void {
    process.removeListener('exit', this.#killAll)
    this.#supervised.clear()
  }

  async #stopOne(instance: string): Promise<void> {
    const entry = this.#supervised.get(instance)
    if (!entry) return
    entry.isStopping = true
    clearTimeout(entry.timer)
    const pid = entry.child?.pid
    if (pid === undefined) return
    send(pid, entry.spec.stopSignal)
    const patience = setTimeout(() => sendToGroup(pid, 'SIGKILL'), this.#stopPatienceMs)
    await entry.ended
    clearTimeout(patience)
  }

  #spawn(entry: Supervised): void {
    const { spec } = entry
    entry.startedAt = performance.now()
    let log: number | undefined
    let child: ChildProcess
    try {
      log = openLog(spec.logFile)
      child = spawn(spec.file, spec.args, {
        cwd: spec.cwd,
        env: spec.env ?? process.env,
        stdio: ['ignore', log, log],
        // A group of its own: Ctrl-C at the terminal reaches us only, and we end things in their order.
        detached: true,
        ...(spec.uid === undefined ? {} : { uid: spec.uid }),
        ...(spec.gid === undefined ? {} : { gid: spec.gid }),
      })
    } catch (error) {
      this.#onEnd(entry, `cannot be started: ${(error as Error).message}`, undefined)
      return
    } finally {
      if (log !== undefined) closeSync(log)
    }
    entry.child = child
    entry.ended = new Promise((resolve) => {
      child.once('error', (error) => {
        // An error after the start, such as a signal that was refused, is not an end.
        if (child.pid !== undefined) return
        this.#onEnd(entry, `cannot be started: ${error.message}`, undefined)
        resolve()
      })
      child.once('exit', (status, signal) => {
        // Whatever it had started itself goes with it.
        if (child.pid !== undefined) sendToGroup(child.pid, 'SIGKILL')
        this.#onEnd(entry, signal ? `signal ${signal}` : `exit status ${status}`, status ?? undefined)
        resolve()
      })
    })
    if (child.pid === undefined) return
    entry.identity = identify(child.pid, spec.program)
    if (entry.identity) this.#events.onStart?.(spec.instance, entry.identity)
  }

  #onEnd(entry: Supervised, reason: string, status: number | undefined): void {
    const livedMs = Math.round(performance.now() - entry.startedAt)
    entry.child = undefined
    entry.identity = undefined
    const delayMs = entry.isStopping ? undefined : restartDelayMs(entry.lastDelayMs, livedMs)
    if (delayMs !== undefined) {
      entry.lastDelayMs = delayMs
      entry.timer = setTimeout(() => {
        entry.restarts += 1
        this.#spawn(entry)
      }, delayMs)
    }
    this.#events.onEnd?.({ instance: entry.spec.instance, reason, status, livedMs, restartDelayMs: delayMs })
  }
}

function openLog(file: string): number {
  try {
    if (statSync(file).size > LOG_LIMIT_BYTES) renameSync(file, `${file}.1`)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  return openSync(file, 'a', 0o600)
}

/** Signals a process and all that share its group; no such group any more is no error. */
function sendToGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    send(-pid, signal)
  } catch (error) {
    // macOS says EPERM for a group whose only member is a zombie.
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') throw error
  }
}
