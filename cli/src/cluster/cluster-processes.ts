import { appendFileSync } from 'node:fs'
import { describeError } from '@svc/domain/failure'
import {
  type HomeLayout,
  logFile,
  type RunningProcess,
  removeRunFile,
  storageFailure,
  writeRunFile,
} from '../home/index.ts'
import { identify, type ProcessIdentity } from '../processes/index.ts'
import { type ProcessEnd, type ProcessSpec, Supervisor } from '../supervisor/index.ts'
import { endingOrder } from './end-cluster.ts'
import type { ClusterPlan } from './plan-cluster.ts'

/** A process of the cluster. */
export interface Member {
  readonly role: string
  readonly url: string
  readonly spec: ProcessSpec
}

/** The processes of one cluster. Updates the run file at every change. */
export class ClusterProcesses {
  private readonly home: HomeLayout
  private readonly plan: ClusterPlan
  private readonly members = new Map<string, Member>()
  private readonly supervisor: Supervisor
  private readonly self: ProcessIdentity
  private readonly startedAt = Date.now()
  private readonly down = new Set<string>()
  private stopped: Promise<void> | undefined
  private isStopping = false

  constructor(home: HomeLayout, plan: ClusterPlan, onEnd: (end: ProcessEnd) => void) {
    this.home = home
    this.plan = plan
    this.self = identify(process.pid, 'node')!
    this.supervisor = new Supervisor({
      onStart: () => this.save(),
      onEnd: (end) => {
        this.save()
        if (end.restartDelayMs !== undefined) this.log('warn', 'Process exited; restarting', end)
        onEnd(end)
      },
    })
  }

  /** Starts a member and keeps it running; does nothing while the cluster is stopping. */
  start(member: Member): void {
    if (this.stopped) return
    const { instance } = member.spec
    if (this.members.size === 0) this.log('info', 'Starting')
    this.members.set(instance, member)
    this.down.delete(instance)
    this.supervisor.start(member.spec)
  }

  /** Starts a member that was stopped. */
  startAgain(instance: string): void {
    const member = this.members.get(instance)
    if (member && this.down.has(instance)) this.start(member)
  }

  /** Stops one member, until it is started again. */
  async stopOne(instance: string): Promise<void> {
    this.down.add(instance)
    await this.supervisor.stop([instance])
    this.save()
  }

  /** Sends a signal that ends a member, and waits until it has exited. */
  async kill(instance: string, signal: NodeJS.Signals): Promise<void> {
    await this.supervisor.kill(instance, signal)
  }

  /** The current process of a member. */
  identityOf(instance: string): ProcessIdentity | undefined {
    return this.supervisor.identityOf(instance)
  }

  /** Every member with its current state, in display order. */
  list(): RunningProcess[] {
    const order = [...this.plan.services.map(({ instance }) => instance), 'postgres', 'redis', 'directory']
    const members = order
      .map((instance) => this.members.get(instance))
      .filter((member) => member !== undefined)
    return members.map(({ role, url, spec: { instance } }) => {
      const running = this.supervisor.identityOf(instance)
      return {
        instance,
        role,
        url,
        ...(running ? { process: running } : {}),
        state: running ? 'running' : this.down.has(instance) ? 'stopped' : 'restarting',
        restarts: this.supervisor.restartsOf(instance),
      }
    })
  }

  /** Stops everything in order and removes the run file; further calls wait for the first. */
  stop(): Promise<void> {
    this.stopped ??= this.stopAll()
    return this.stopped
  }

  private async stopAll(): Promise<void> {
    this.isStopping = true
    const members = [...this.members.values()]
    if (members.length > 0) this.log('info', 'Stopping')
    for (const belongs of endingOrder) {
      await this.supervisor.stop(members.filter(({ role }) => belongs(role)).map(({ spec }) => spec.instance))
    }
    this.supervisor.close()
    removeRunFile(this.home)
  }

  /** Logs in the format of the services, for `./svc logs supervisor`. */
  private log(level: 'info' | 'warn', message: string, details: object = {}): void {
    const entry = {
      timestamp: new Date().toISOString(),
      level,
      service: 'svc/supervisor',
      message,
      ...details,
    }
    this.tryWriting(() =>
      appendFileSync(logFile(this.home, 'supervisor'), `${JSON.stringify(entry)}\n`, { mode: 0o600 }),
    )
  }

  private save(): void {
    if (this.members.size === 0) return
    this.tryWriting(() =>
      writeRunFile(this.home, {
        profile: this.plan.options.profile,
        startedAt: this.startedAt,
        supervisor: this.self,
        routerUrl: this.plan.routerUrl,
        processes: this.list(),
      }),
    )
  }

  /** A full disk must not end the supervisor, and with it every process. While it stops, nobody needs the files. */
  private tryWriting(write: () => void): void {
    try {
      write()
    } catch (error) {
      if (!this.isStopping)
        process.stderr.write(`svc: ${describeError(storageFailure(error, this.home.root))}\n`)
    }
  }
}
