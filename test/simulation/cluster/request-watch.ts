import type { SegmentPayload } from '@svc/domain/segment'
import type { RequestBatch } from '@svc/shared/redis'
import {
  type Report,
  type ReportAnswer,
  reportPath,
  type ServerReport,
  standbyReportPath,
} from '@svc/shared/segment-serving'
import { tiers } from '../../faults/schedule.ts'
import type { AnsweredRequest } from '../environment.ts'
import type { Machine, Scheduler, SimulatedProcess } from '../kernel/index.ts'
import type { Store } from '../stand-ins/postgres/store.ts'
import { checksumOf } from './checksum.ts'
import { cacheFolder } from './layout.ts'
import type { Presence } from './presence.ts'

// How long a new leader waits at least for servers that have not reported.
const reportWaitMs = 8000
// A server that has announced itself for this long is known to all coordinators.
const knownMs = 10_000
// A leader knows a segment that a server had for this long before its last report.
const reportedMs = 20_000

const historicals = Object.values(tiers).flat()

/** The cluster whose requests are watched. */
interface WatchedCluster {
  readonly scheduler: Scheduler
  readonly machines: ReadonlyMap<string, Machine>
  readonly store: Store
  readonly violations: { readonly invariant: string; readonly what: string }[]
  readonly observer:
    | { mustKeep(segmentId: string): boolean; minReplicas(segmentId: string, instance: string): number }
    | undefined
}

/** A load or drop that a leader has requested from a server. */
interface Requested {
  readonly action: 'load' | 'drop'
  readonly id: string
  readonly term: number
  readonly sentAtMs: number
  /** The checksum of a segment to load. */
  readonly checksum: string | undefined
}

/** One lifetime of a historical, as its reports and its queue show it. */
interface ServerLife {
  session: string | undefined
  /** The latest term that it has reported. */
  term: number
  /** It has confirmed that it ignores requests of that term up to this time. */
  voidUntilMs: number
  /** Requests that it has received, and that it may execute. */
  received: Requested[]
  /** Drops that it may still execute, received or not. */
  drops: Requested[]
}

/** What a leader has requested from one server, and what is not answered yet. */
interface OpenRequests {
  readonly process: SimulatedProcess
  readonly reportedAtMs: number
  /** By segment. Doubtful ones replace the opposite request, and the next report completes them. */
  readonly byId: Map<string, Requested & { readonly isDoubtful: boolean }>
}

/** A leader since it gained leadership. */
interface LeaderLife {
  readonly gainedAtMs: number
  readonly servers: Map<string, OpenRequests>
}

const requestsOf = ({ requests, term, sentAtMs }: RequestBatch): Requested[] =>
  requests.map((request): Requested => {
    const { action } = request
    return action === 'load'
      ? {
          action,
          id: request.id,
          term,
          sentAtMs,
          checksum: (JSON.parse(request.payload) as SegmentPayload).loadSpec.checksum,
        }
      : { action, id: request.id, term, sentAtMs, checksum: undefined }
  })

const instanceOf = (server: string): string => server.split(':', 1)[0]!

/**
 * Watches the requests that leaders send to historicals, the reports that they get, and what happens in the caches. Checks that
 * leaders decide only on what servers have reported, and that servers do only what the latest leader has requested.
 */
export class RequestWatch {
  private readonly cluster: WatchedCluster
  private readonly presence: Presence
  private readonly lives = new WeakMap<SimulatedProcess, ServerLife>()
  private readonly leaders = new WeakMap<SimulatedProcess, LeaderLife>()
  /** When segments appeared in the cache of each historical. */
  private readonly addedAt = new Map(historicals.map((instance) => [instance, new Map<string, number>()]))
  /** When segments left the cache of each historical. */
  private readonly removedAt = new Map(historicals.map((instance) => [instance, new Map<string, number>()]))

  constructor(cluster: WatchedCluster, presence: Presence) {
    this.cluster = cluster
    this.presence = presence
  }

  /** A coordinator has become the leader. */
  noteGain(process: SimulatedProcess): void {
    const { nowMs } = this.cluster.scheduler
    this.leaders.set(process, { gainedAtMs: nowMs, servers: new Map() })
  }

  /** A leader is about to send requests. */
  noteSent(process: SimulatedProcess, batch: RequestBatch): void {
    const leader = this.leaders.get(process)
    if (leader === undefined) return
    this.checkReported(process, leader)
    const instance = instanceOf(batch.server)
    const known = leader.servers.get(instance)
    const life = this.lifeOf(this.cluster.machines.get(instance)?.process)
    for (const request of requestsOf(batch)) {
      const open = known?.byId.get(request.id)
      if (open?.action === request.action)
        this.violation(
          'leaders repeat a request only once it is answered or revoked',
          `[${process.machine.name}] requested from [${instance}] again to ${request.action} [${request.id}]`,
        )
      if (request.action === 'drop') this.checkDrop(process, instance, request.id)
      else if (open === undefined) this.checkLoad(process, instance, request.id, known)
      known?.byId.set(request.id, { ...request, isDoubtful: open !== undefined })
      if (request.action === 'drop' && life?.session === batch.session) life.drops.push(request)
    }
  }

  /** A server has received requests. It must ignore those of an earlier leader or to an earlier lifetime, and revoked ones. */
  noteReceived(process: SimulatedProcess, batch: RequestBatch): void {
    const life = this.lifeOf(process)
    if (life === undefined || life.session !== batch.session || batch.term < life.term) return
    if (batch.term === life.term && batch.sentAtMs <= life.voidUntilMs) return
    life.received.push(...requestsOf(batch))
  }

  /** A coordinator has answered a request of another server. */
  noteAnswer({ process, caller, path, body, answer }: AnsweredRequest): void {
    if (path !== reportPath && path !== standbyReportPath) return
    const { servers } = body as Report
    for (const report of servers) this.noteReport(caller, report)
    const leader = this.leaders.get(process)
    if (path !== reportPath || leader === undefined) return
    const { term, resync } = answer as ReportAnswer
    for (const report of servers)
      if (resync.includes(report.name)) leader.servers.get(instanceOf(report.name))?.byId.clear()
      else this.noteCounted(process, leader, caller, report, term)
  }

  /** A folder is about to leave a cache. */
  noteRemoval(instance: string, path: string): void {
    const id = segmentIn(path)
    if (id === undefined) return
    const { process, disk } = this.cluster.machines.get(instance)!
    this.addedAt.get(instance)!.delete(id)
    this.removedAt.get(instance)!.set(id, this.cluster.scheduler.nowMs)
    const life = this.lifeOf(process)
    const isRequested = life?.received.some((one) => one.action === 'drop' && one.id === id)
    if (life !== undefined) {
      life.received = life.received.filter((one) => one.action !== 'drop' || one.id !== id)
      life.drops = life.drops.filter((one) => one.id !== id)
    }
    // A server removes damaged copies when it starts.
    if (process === undefined || isRequested || disk.misreads > 0 || !this.isSound(instance, id)) return
    this.violation(
      'servers load and drop only what the latest leader requests',
      `[${instance}] dropped [${id}], which no leader requested from this lifetime of the server`,
    )
  }

  /** A folder has got its name in a cache. */
  noteAppearance(instance: string, path: string): void {
    const id = segmentIn(path)
    if (id === undefined) return
    const { nowMs } = this.cluster.scheduler
    this.addedAt.get(instance)!.set(id, nowMs)
    const life = this.lifeOf(this.cluster.machines.get(instance)!.process)
    if (life === undefined) return
    const requested = life.received.find((one) => one.action === 'load' && one.id === id)
    if (requested === undefined)
      this.violation(
        'servers load and drop only what the latest leader requests',
        `[${instance}] loaded [${id}], which no leader requested from this lifetime of the server`,
      )
    else if (this.checksumIn(instance, id) !== requested.checksum)
      this.violation('servers check what they load', `[${instance}] loaded a damaged copy of [${id}]`)
    life.received = life.received.filter((one) => one.action !== 'load' || one.id !== id)
    life.drops = life.drops.filter((one) => one.id !== id)
  }

  private violation(invariant: string, what: string): void {
    this.cluster.violations.push({ invariant, what })
  }

  private lifeOf(process: SimulatedProcess | undefined): ServerLife | undefined {
    if (process === undefined) return undefined
    let life = this.lives.get(process)
    if (life === undefined) {
      life = { session: undefined, term: 0, voidUntilMs: 0, received: [], drops: [] }
      this.lives.set(process, life)
    }
    return life
  }

  private noteReport(caller: SimulatedProcess, report: ServerReport): void {
    const life = this.lifeOf(caller)!
    const { session, term, voidUntilMs, failures } = report
    if (this.cluster.machines.get(caller.machine.name)?.process === caller)
      this.checkServed(caller, report, life.session === undefined)
    life.session ??= session
    if (term > life.term) {
      life.term = term
      life.voidUntilMs = 0
    }
    if (term === life.term) life.voidUntilMs = Math.max(life.voidUntilMs, voidUntilMs)
    const isRevoked = (one: Requested): boolean => one.term === life.term && one.sentAtMs <= life.voidUntilMs
    life.received = life.received.filter((one) => !isRevoked(one))
    const hasFailed = ({ id, action }: Requested): boolean =>
      failures.some((failure) => failure.id === id && failure.action === action)
    life.drops = life.drops.filter((one) => one.term >= life.term && !isRevoked(one) && !hasFailed(one))
  }

  /** A server reports only segments that are in its cache, and checks them when it starts. */
  private checkServed(
    { machine, startedAtMs }: SimulatedProcess,
    { segments, changes }: ServerReport,
    isFirst: boolean,
  ): void {
    const instance = machine.name
    const loaded = changes.flatMap(({ id, change }) => (change === 'loaded' ? [id] : []))
    for (const id of [...(segments ?? []), ...loaded]) {
      // A report may arrive long after a segment has left the cache.
      const removedAtMs = this.removedAt.get(instance)!.get(id) ?? Number.NEGATIVE_INFINITY
      if (!this.isIn(instance, id) && removedAtMs < startedAtMs)
        this.violation('servers report only what they have', `[${instance}] reported [${id}] too early`)
      const isStored = this.cluster.store.tables.segments.rows.has(id)
      if (isFirst && isStored && this.isIn(instance, id) && !this.isSound(instance, id))
        this.violation('servers check what they load', `[${instance}] started with a damaged copy of [${id}]`)
    }
  }

  /** A report counts at the leader. */
  private noteCounted(
    process: SimulatedProcess,
    leader: LeaderLife,
    caller: SimulatedProcess,
    report: ServerReport,
    term: number,
  ): void {
    const { nowMs } = this.cluster.scheduler
    const instance = instanceOf(report.name)
    if (report.term !== term)
      this.violation(
        'leaders decide only on what servers have reported to them',
        `[${process.machine.name}] counts a report of [${instance}] under term ${report.term} in term ${term}`,
      )
    const before = leader.servers.get(instance)
    const byId = before?.process === caller ? before.byId : new Map()
    const answered = new Set([
      ...(report.segments ?? []),
      ...[...report.changes, ...report.failures].map(({ id }) => id),
    ])
    for (const [id, { isDoubtful, sentAtMs }] of byId)
      if (isDoubtful || answered.has(id) || sentAtMs <= report.voidUntilMs) byId.delete(id)
    leader.servers.set(instance, { process: caller, reportedAtMs: nowMs, byId })
  }

  /** A new leader waits for the reports of all servers that it can know. */
  private checkReported(process: SimulatedProcess, { gainedAtMs, servers }: LeaderLife): void {
    if (this.cluster.scheduler.nowMs - gainedAtMs >= reportWaitMs - 1) return
    for (const instance of historicals)
      if (!servers.has(instance) && this.presence.isSince(instance, gainedAtMs - knownMs))
        this.violation(
          'leaders decide only on what servers have reported to them',
          `[${process.machine.name}] sent requests before [${instance}] had reported to it`,
        )
  }

  /** A leader drops a replica only if another one stays, and as many as rules require. */
  private checkDrop(process: SimulatedProcess, instance: string, id: string): void {
    if (!this.cluster.observer?.mustKeep(id) || !this.isIn(instance, id)) return
    const stays = (other: string): boolean => {
      const life = this.lifeOf(this.cluster.machines.get(other)!.process)
      return this.isIn(other, id) && life?.drops.some((drop) => drop.id === id) !== true
    }
    const staying = historicals.filter((other) => other !== instance && stays(other)).length
    const required = this.cluster.observer.minReplicas(id, instance)
    if (staying < Math.max(1, required))
      this.violation(
        'leaders drop a replica only if as many stay as rules require',
        `[${process.machine.name}] requested from [${instance}] to drop [${id}], but ${staying} of ${required} other replicas stay`,
      )
  }

  /** A leader requests only what a server has not reported. */
  private checkLoad(
    process: SimulatedProcess,
    instance: string,
    id: string,
    known: OpenRequests | undefined,
  ): void {
    const server = this.cluster.machines.get(instance)?.process
    const addedAtMs = this.addedAt.get(instance)?.get(id)
    if (known === undefined || addedAtMs === undefined || server !== known.process) return
    if (!this.isIn(instance, id) || this.lifeOf(server)!.drops.some((drop) => drop.id === id)) return
    if (addedAtMs >= Math.max(server.startedAtMs, known.reportedAtMs - reportedMs)) return
    this.violation(
      'leaders do not request what a server has',
      `[${process.machine.name}] requested from [${instance}] to load [${id}], which it has`,
    )
  }

  private isIn(instance: string, id: string): boolean {
    return this.cluster.machines.get(instance)!.disk.find(`${segmentsFolder}/${id}`) !== undefined
  }

  private checksumIn(instance: string, id: string): string | undefined {
    const file = this.cluster.machines.get(instance)!.disk.find(`${segmentsFolder}/${id}/segment.parquet`)
    return file?.kind === 'file' ? checksumOf(file.data) : undefined
  }

  /** Whether a copy of a stored segment in a cache is complete. */
  private isSound(instance: string, id: string): boolean {
    const segment = this.cluster.store.tables.segments.rows.get(id)
    const { disk } = this.cluster.machines.get(instance)!
    const descriptor = disk.find(`${segmentsFolder}/${id}/descriptor.json`)
    return (
      segment !== undefined &&
      descriptor?.kind === 'file' &&
      isDescriptor(descriptor.data.toString()) &&
      this.checksumIn(instance, id) === segment.payload.loadSpec.checksum
    )
  }
}

const segmentsFolder = `${cacheFolder}/segments`

/** Whether a file in a cache describes a segment. */
function isDescriptor(text: string): boolean {
  try {
    const { payload, payloadChecksum } = JSON.parse(text) as { payload: unknown; payloadChecksum: unknown }
    return checksumOf(Buffer.from(JSON.stringify(payload))) === payloadChecksum
  } catch {
    return false
  }
}

/** Returns the ID of the segment whose folder in a cache this is. */
function segmentIn(path: string): string | undefined {
  if (!path.startsWith(`${segmentsFolder}/`)) return undefined
  const id = path.slice(segmentsFolder.length + 1)
  return id.includes('/') ? undefined : id
}
