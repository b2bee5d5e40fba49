import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync, renameSync, statSync } from 'node:fs'
import { identify, type ProcessIdentity, send } from '../processes/index.ts'
import { restartDelayMs } from './restart-delay.ts'

/** How to run one process, and how to stop it. */
export interface ProcessSpec {
  readonly instance: string
  readonly file: string
  readonly args: readonly string[]
  readonly env?: NodeJS.ProcessEnv
  readonly cwd: string
  /** The user and group to run as. Default: those of this process. */
  readonly uid?: number
  readonly gid?: number
  /** Name of the program, to distinguish the process from another one with the same process ID. */
  readonly program: string
  /** Receives the output of the process. */
  readonly logFile: string
  /** Requests a graceful stop; SIGKILL follows after the timeout. */
  readonly stopSignal: NodeJS.Signals
}

/** How a process exited. */
export interface ProcessEnd {
  readonly instance: string
  /** For example `exit status 1`, `signal SIGKILL`, `failed to start: spawn x ENOENT`. */
  readonly reason: string
  /** The exit status; undefined if a signal ended it or it never started. */
  readonly status: number | undefined
  readonly livedMs: number
  /** Delay before it restarts; undefined if it was stopped. */
  readonly restartDelayMs: number | undefined
}

/** The events of a supervisor. */
export interface SupervisorEvents {
  readonly onStart?: (instance: string, process: ProcessIdentity) => void
  readonly onEnd?: (end: ProcessEnd) => void
}

/** Time for a graceful stop; services stop within 10 s. */
export const defaultStopTimeoutMs = 10_000

/** A log that is larger than this is renamed to `<name>.1` when its process starts. */
const logLimitBytes = 16 * 1024 * 1024

interface Supervised {
  readonly spec: ProcessSpec
  child: ChildProcess | undefined
  identity: ProcessIdentity | undefined
  startedAt: number
  lastDelayMs: number | undefined
  timer: NodeJS.Timeout | undefined
  restarts: number
  isStopping: boolean
  /** Resolves when the current process has exited. */
  ended: Promise<void>
}

/** Runs processes until they are stopped. */
export class Supervisor {
  private readonly events: SupervisorEvents
  private readonly stopTimeoutMs: number
  private readonly supervised = new Map<string, Supervised>()
  private readonly killAllAtExit = () => this.killAll()

  constructor(events: SupervisorEvents = {}, stopTimeoutMs = defaultStopTimeoutMs) {
    this.events = events
    this.stopTimeoutMs = stopTimeoutMs
    // When this process exits normally, its children are killed.
    process.once('exit', this.killAllAtExit)
  }

  /** Starts a process and keeps it running. */
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
    this.supervised.set(spec.instance, entry)
    this.spawn(entry)
  }

  /** The current process of an instance. */
  identityOf(instance: string): ProcessIdentity | undefined {
    return this.supervised.get(instance)?.identity
  }

  /** The number of restarts of an instance. */
  restartsOf(instance: string): number {
    return this.supervised.get(instance)?.restarts ?? 0
  }

  /** Sends a signal that ends the process of an instance, and waits until it has exited; it then restarts. */
  async kill(instance: string, signal: NodeJS.Signals): Promise<void> {
    const entry = this.supervised.get(instance)
    if (entry?.child?.pid === undefined) return
    send(entry.child.pid, signal)
    await entry.ended
  }

  /** Stops processes permanently; returns when they have exited. Ignores unknown names. */
  async stop(instances: readonly string[]): Promise<void> {
    await Promise.all(instances.map((instance) => this.stopOne(instance)))
  }

  /** Kills every process, for a supervisor that has to exit at once. */
  killAll(): void {
    for (const entry of this.supervised.values()) {
      entry.isStopping = true
      clearTimeout(entry.timer)
      if (entry.child?.pid !== undefined) sendToGroup(entry.child.pid, 'SIGKILL')
    }
  }

  /** Releases all resources, after everything is stopped. */
  close(): void {
    process.removeListener('exit', this.killAllAtExit)
    this.supervised.clear()
  }

  private async stopOne(instance: string): Promise<void> {
    const entry = this.supervised.get(instance)
    if (!entry) return
    entry.isStopping = true
    clearTimeout(entry.timer)
    const pid = entry.child?.pid
    if (pid === undefined) return
    send(pid, entry.spec.stopSignal)
    const killTimer = setTimeout(() => sendToGroup(pid, 'SIGKILL'), this.stopTimeoutMs)
    await entry.ended
    clearTimeout(killTimer)
  }

  private spawn(entry: Supervised): void {
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
        // Its own process group: Ctrl-C in the terminal reaches only the supervisor, which stops processes in order.
        detached: true,
        ...(spec.uid === undefined ? {} : { uid: spec.uid }),
        ...(spec.gid === undefined ? {} : { gid: spec.gid }),
      })
    } catch (error) {
      this.onEnd(entry, `failed to start: ${(error as Error).message}`, undefined)
      return
    } finally {
      if (log !== undefined) closeSync(log)
    }
    entry.child = child
    entry.ended = new Promise((resolve) => {
      child.once('error', (error) => {
        // An error after the start, for example about a signal, is not an exit.
        if (child.pid !== undefined) return
        this.onEnd(entry, `failed to start: ${error.message}`, undefined)
        resolve()
      })
      child.once('exit', (status, signal) => {
        // Its own children are killed with it.
        if (child.pid !== undefined) sendToGroup(child.pid, 'SIGKILL')
        this.onEnd(entry, signal ? `signal ${signal}` : `exit status ${status}`, status ?? undefined)
        resolve()
      })
    })
    if (child.pid === undefined) return
    entry.identity = identify(child.pid, spec.program)
    if (entry.identity) this.events.onStart?.(spec.instance, entry.identity)
  }

  private onEnd(entry: Supervised, reason: string, status: number | undefined): void {
    const livedMs = Math.round(performance.now() - entry.startedAt)
    entry.child = undefined
    entry.identity = undefined
    const delayMs = entry.isStopping ? undefined : restartDelayMs(entry.lastDelayMs, livedMs)
    if (delayMs !== undefined) {
      entry.lastDelayMs = delayMs
      entry.timer = setTimeout(() => {
        entry.restarts += 1
        this.spawn(entry)
      }, delayMs)
    }
    this.events.onEnd?.({ instance: entry.spec.instance, reason, status, livedMs, restartDelayMs: delayMs })
  }
}

function openLog(file: string): number {
  try {
    if (statSync(file).size > logLimitBytes) renameSync(file, `${file}.1`)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  return openSync(file, 'a', 0o600)
}

/** Signals all processes of a group. A group that no longer exists is not an error. */
function sendToGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    send(-pid, signal)
  } catch (error) {
    // macOS reports EPERM for a group whose only member is a zombie.
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') throw error
  }
}
