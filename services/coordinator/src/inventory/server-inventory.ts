import { copyFlag, SegmentTable } from '@svc/domain/inventory'
import type { LoadingServer, ServerClone } from '@svc/domain/loading'
import type { ServerParts } from '@svc/shared/coordinator-config'
import type { AwaitedServer, ReportAnswer, RequestFailure, ServerReport } from '@svc/shared/data-server'
import { PendingView, ServedIds } from './copy-views.ts'
import type { PendingRequest } from './pending-request.ts'

/** A data server as the leader knows it from its reports. */
export interface ServerState {
  /** Its number in the segment table. */
  readonly number: number
  readonly name: string
  readonly process: string
  readonly type: 'historical' | 'broker'
  readonly tier: string
  readonly priority: number
  readonly maxSizeBytes: number
  readonly usedSizeBytes: number
  readonly session: string
  /** The number of changes known. */
  readonly sequence: number
  readonly lastReportAtMs: number
  readonly served: ServedIds
  readonly pending: PendingView
}

interface MutableServer extends ServerState {
  /** Segments that the server failed to load, with the time until which it is not asked again. */
  readonly refused: Map<string, { readonly untilMs: number; readonly waitMs: number }>
  /** Requests that ask for what is already so, as far as is known: the next report ends them. */
  readonly doubtful: Set<string>
  /** What was sent until then may or may not have come: it is void, and forgotten once the server has said so. */
  voidUntilMs: number | undefined
}

/** Loads and drops that servers were asked for and have not answered. */
export interface QueueSize {
  readonly loads: number
  readonly loadSizeBytes: number
  readonly drops: number
  /** When the oldest load was sent; Infinity without any. */
  readonly oldestLoadAtMs: number
}

/** What a server did with a copy: loaded where one was missing, moved in the place of another, dropped. */
type CopyChange = 'loaded' | 'moved' | 'dropped'

/** Who is told of what servers report. */
export interface ServerInventoryEvents {
  onFailure?(server: ServerState, failure: RequestFailure): void
  /** `row` is that of the segment in the table, or -1. */
  onCopyChange?(
    server: ServerState,
    segment: { readonly id: string; readonly row: number },
    change: CopyChange,
  ): void
}

/** Historicals before brokers, by name. */
function inOrder(a: ServerState, b: ServerState): number {
  if (a.type !== b.type) return a.type === 'historical' ? -1 : 1
  return a.name < b.name ? -1 : 1
}

const noParts: ServerParts = { leaving: new Set(), clones: new Map() }

// How long a server is left alone with a segment that it failed to load: doubled with every failure.
const firstRefusalMs = 5000
const longestRefusalMs = 300_000

const { served, loading, dropping, refused, moving, leaving } = copyFlag
const pendingFlags = loading | dropping
const requestFlags = pendingFlags | moving

/** The data servers that report to the leader: what they serve, and what they were asked to do. */
export class ServerInventory {
  /** Where it stands which server has which segment. */
  readonly table: SegmentTable
  private readonly byName = new Map<string, MutableServer>()
  private readonly byNumber: (MutableServer | undefined)[] = []
  private readonly freeNumbers: number[] = []
  /** Numbers that are free from the next run on: in the present one they stand for servers that have gone. */
  private readonly retired: number[] = []
  private nextNumber = 0
  /** Historicals that their processes have told of and whose lists have not come, by process. */
  private readonly awaitedOf = new Map<string, { list: readonly AwaitedServer[]; readonly atMs: number }>()
  private readonly silenceMs: number
  private readonly events: ServerInventoryEvents

  /** A server is forgotten after `silenceMs` without a report. */
  constructor(silenceMs: number, events: ServerInventoryEvents = {}, table = new SegmentTable()) {
    this.silenceMs = silenceMs
    this.events = events
    this.table = table
  }

  /**
   * Takes in the reports of one process, which has `awaited` historicals beside; answers which servers must send their
   * whole list.
   */
  take(
    reports: readonly ServerReport[],
    term: number,
    nowMs: number,
    awaited: readonly AwaitedServer[] = [],
  ): ReportAnswer {
    // A server that has not heard of this leader may still do what an earlier one asked: only from when it knows
    // this term does its list stay true.
    const taken = (report: ServerReport) => report.term === term && this.takeOne(report, nowMs)
    const refused = reports.filter((report) => !taken(report))
    const resync = refused.map(({ name }) => name)
    for (const { process } of reports) this.awaitedOf.delete(process)
    const isHistorical = ({ type }: ServerReport) => type === 'historical'
    const byProcess = Map.groupBy([...awaited, ...refused.filter(isHistorical)], ({ process }) => process)
    for (const [process, list] of byProcess) this.awaitedOf.set(process, { list, atMs: nowMs })
    const voids = reports.flatMap(({ name }) => {
      const untilMs = this.byName.get(name)?.voidUntilMs
      return untilMs === undefined ? [] : [[name, untilMs] as const]
    })
    return { term, resync, voidUntilMs: Object.fromEntries(voids) }
  }

  /** The historicals that their processes have told of, and whose lists have never come. */
  awaited(): readonly AwaitedServer[] {
    return [...this.awaitedOf.values()].flatMap(({ list }) =>
      list.filter(({ name }) => !this.byName.has(name)),
    )
  }

  /** Forgets servers that their process has told to be no more. */
  forgetGone(names: readonly string[]): void {
    if (names.length === 0) return
    const gone = new Set(names)
    this.retired.push(...this.remove([...gone].flatMap((name) => this.byName.get(name) ?? [])))
    for (const awaited of this.awaitedOf.values())
      awaited.list = awaited.list.filter(({ name }) => !gone.has(name))
  }

  private takeOne(report: ServerReport, nowMs: number): boolean {
    const known = this.byName.get(report.name)
    const follows = known?.session === report.session && known.sequence === report.from
    if (report.segments === null && !follows) return false
    const sameLife = known?.session === report.session
    const number = known?.number ?? this.freeNumbers.pop() ?? this.nextNumber++
    // Another life of the process knows nothing of what its former self was asked.
    if (known && !sameLife) this.table.clearServers(new Set([number]), requestFlags | refused | leaving)
    const server: MutableServer = {
      number,
      name: report.name,
      process: report.process,
      type: report.type,
      tier: report.tier,
      priority: report.priority,
      maxSizeBytes: report.maxSizeBytes,
      usedSizeBytes: report.usedSizeBytes,
      session: report.session,
      sequence: report.to,
      lastReportAtMs: nowMs,
      served: known?.served ?? new ServedIds(this.table, number),
      pending: known?.pending ?? new PendingView(this.table, number),
      refused: sameLife ? known.refused : new Map(),
      doubtful: sameLife ? known.doubtful : new Set(),
      voidUntilMs: sameLife ? known.voidUntilMs : undefined,
    }
    this.byName.set(report.name, server)
    this.byNumber[number] = server
    if (report.segments) this.takeList(server, report.segments, known !== undefined)
    for (const { id, change } of report.changes) {
      const row = this.table.rowOf(id)
      this.tellCopyChange(server, { id, row }, change)
      if (change === 'loaded') this.noteServed(server, id, row)
      else this.noteGone(server, id, row)
    }
    this.settle(server, report.failures, nowMs)
    this.forgetVoid(server, report.voidUntilMs)
    return true
  }

  /** Tells of a change that is news, before it is taken in: some reports come twice. */
  private tellCopyChange(
    server: MutableServer,
    segment: { readonly id: string; readonly row: number },
    change: 'loaded' | 'dropped',
  ): void {
    const { row } = segment
    const flags = row < 0 ? 0 : this.table.copies.flags(row, server.number)
    const wasServed = (flags & served) !== 0
    if (wasServed === (change === 'loaded')) return
    const isMove = change === 'loaded' && (flags & moving) !== 0
    this.events.onCopyChange?.(server, segment, isMove ? 'moved' : change)
  }

  private takeList(server: MutableServer, ids: readonly string[], isKnown: boolean): void {
    if (isKnown) {
      const listed = new Set(ids)
      for (const id of [...server.served]) if (!listed.has(id)) this.noteGone(server, id)
    }
    for (const id of ids) this.noteServed(server, id)
  }

  private noteServed(server: MutableServer, id: string, row?: number): void {
    this.table.changeCopy(id, server.number, served, loading | moving | refused, row)
    server.refused.delete(id)
  }

  private noteGone({ number }: MutableServer, id: string, row?: number): void {
    this.table.changeCopy(id, number, 0, served | dropping | leaving, row)
  }

  /** Takes away the pending requests that the report answers, beside those that its changes did. */
  private settle(server: MutableServer, failures: readonly RequestFailure[], nowMs: number): void {
    const { table } = this
    for (const failure of failures) {
      const flag = failure.action === 'load' ? loading : dropping
      const row = table.rowOf(failure.id)
      if (row < 0 || (table.copies.flags(row, server.number) & flag) === 0) continue
      const waitMs = Math.min(
        (server.refused.get(failure.id)?.waitMs ?? firstRefusalMs / 2) * 2,
        longestRefusalMs,
      )
      server.refused.set(failure.id, { untilMs: nowMs + waitMs, waitMs })
      table.changeRow(row, server.number, refused, flag | moving)
      this.events.onFailure?.(server, failure)
    }
    for (const id of server.doubtful) {
      const row = table.rowOf(id)
      const flags = row < 0 ? 0 : table.copies.flags(row, server.number)
      if ((flags & loading) !== 0 && (flags & served) !== 0) this.noteServed(server, id)
      if ((flags & dropping) !== 0 && (flags & served) === 0) table.changeRow(row, server.number, 0, dropping)
    }
    server.doubtful.clear()
  }

  /** Notes requests that are about to be sent. */
  note(name: string, requests: ReadonlyMap<string, PendingRequest>): void {
    const server = this.byName.get(name)
    if (!server) return
    const { table } = this
    for (const [id, { action, sizeBytes, sentAtMs, replaces }] of requests) {
      const isLoad = action === 'load'
      const entry = table.changeCopy(
        id,
        server.number,
        isLoad ? (replaces === undefined ? loading : loading | moving) : dropping,
        isLoad ? dropping : loading | moving,
      )
      table.copies.sentAtOf[entry] = sentAtMs
      const row = table.copies.rowOf[entry] as number
      const replaced = replaces === undefined ? undefined : this.byName.get(replaces)
      if (replaced && (table.copies.flags(row, replaced.number) & served) !== 0)
        table.changeRow(row, replaced.number, leaving, 0)
      if (isLoad && !table.isUsed(row)) table.sizeOf[row] = sizeBytes
      if ((((table.copies.flagsOf[entry] as number) & served) !== 0) === isLoad) server.doubtful.add(id)
    }
  }

  /**
   * The queues were lost: what was asked until now is void, for what servers had taken out of them they would still
   * do. It is forgotten, and may be asked again, once they say that they will not. Returns the number of requests.
   */
  voidAsked(): number {
    let count = 0
    const { copies } = this.table
    for (let entry = 0; entry < copies.limit; entry++)
      if (copies.serverOf[entry] !== -1 && ((copies.flagsOf[entry] as number) & pendingFlags) !== 0) count++
    for (const name of this.byName.keys()) this.voidAskedOf(name)
    return count
  }

  /** What was sent to a server until now may or may not come to it: as with the loss of all queues. */
  voidAskedOf(name: string): void {
    const server = this.byName.get(name)
    if (server) server.voidUntilMs = performance.now()
  }

  /**
   * Forgets silent servers, and declares void what was never answered; returns the names of the silent ones. With
   * `triesOthers`, a server that did not answer to a load is left alone with that segment, so that another gets it.
   */
  expire(nowMs: number, requestTimeoutMs: number, triesOthers = false): string[] {
    this.freeNumbers.push(...this.retired.splice(0))
    for (const [process, { atMs }] of this.awaitedOf)
      if (nowMs - atMs > this.silenceMs) this.awaitedOf.delete(process)
    const silent = [...this.byName.values()].filter(
      ({ lastReportAtMs }) => nowMs - lastReportAtMs > this.silenceMs,
    )
    this.freeNumbers.push(...this.remove(silent))
    for (const server of this.byName.values()) {
      for (const [id, { untilMs }] of server.refused)
        if (nowMs > untilMs + longestRefusalMs) server.refused.delete(id)
    }
    const { copies } = this.table
    for (let entry = 0; entry < copies.limit; entry++) {
      if (copies.serverOf[entry] === -1 || ((copies.flagsOf[entry] as number) & pendingFlags) === 0) continue
      if (nowMs - (copies.sentAtOf[entry] as number) <= requestTimeoutMs) continue
      const server = this.byNumber[copies.serverOf[entry] as number]
      if (!server) continue
      if (triesOthers && ((copies.flagsOf[entry] as number) & loading) !== 0)
        server.refused.set(this.table.idOf(copies.rowOf[entry] as number), {
          untilMs: nowMs + longestRefusalMs,
          waitMs: longestRefusalMs,
        })
      server.voidUntilMs = Math.max(server.voidUntilMs ?? 0, copies.sentAtOf[entry] as number)
    }
    return silent.map(({ name }) => name)
  }

  /** Forgets all servers, as a new leader must: each of them reports its whole list again. */
  reset(): void {
    const { copies } = this.table
    for (let entry = 0; entry < copies.limit; entry++) {
      const server = copies.serverOf[entry] as number
      if (server !== -1) this.table.changeRow(copies.rowOf[entry] as number, server, 0, 255)
    }
    this.byName.clear()
    this.awaitedOf.clear()
    this.byNumber.length = 0
    this.freeNumbers.length = 0
    this.retired.length = 0
    this.nextNumber = 0
  }

  /** The servers that report, historicals before brokers, by name. */
  servers(): readonly ServerState[] {
    return [...this.byName.values()].sort(inOrder)
  }

  get(name: string): ServerState | undefined {
    return this.byName.get(name)
  }

  /** The servers that serve a segment, in order. */
  holdersOf(row: number): readonly ServerState[] {
    const { copies } = this.table
    const holders: ServerState[] = []
    for (let entry = copies.firstOf[row] ?? -1; entry >= 0; entry = copies.nextOf[entry] as number) {
      if (((copies.flagsOf[entry] as number) & served) === 0) continue
      const server = this.byNumber[copies.serverOf[entry] as number]
      if (server) holders.push(server)
    }
    return holders.sort(inOrder)
  }

  /** What each server, by its number, was asked for and has not answered. */
  queues(): ReadonlyMap<number, QueueSize> {
    const { copies, sizeOf } = this.table
    const queues = new Map(
      [...this.byName.values()].map(({ number }) => [
        number,
        { loads: 0, loadSizeBytes: 0, drops: 0, oldestLoadAtMs: Number.POSITIVE_INFINITY },
      ]),
    )
    for (let entry = 0; entry < copies.limit; entry++) {
      const flags = copies.flagsOf[entry] as number
      if (copies.serverOf[entry] === -1 || (flags & pendingFlags) === 0) continue
      const queue = queues.get(copies.serverOf[entry] as number)
      if (!queue) continue
      if ((flags & dropping) !== 0) {
        queue.drops += 1
      } else {
        queue.loads += 1
        queue.oldestLoadAtMs = Math.min(queue.oldestLoadAtMs, copies.sentAtOf[entry] as number)
        queue.loadSizeBytes += sizeOf[copies.rowOf[entry] as number] as number
      }
    }
    return queues
  }

  /** The servers as planning sees them, without clones; those that leave are to be emptied. */
  loadingServers(nowMs: number, { leaving, clones }: ServerParts = noParts): LoadingServer[] {
    return this.describe(nowMs, leaving).filter(({ name }) => !clones.has(name))
  }

  /**
   * Servers that are there, while it is not known what they serve: their tiers have servers, so that what lies in other
   * tiers waits for theirs, and they are given nothing.
   */
  unknownServers(
    awaited: readonly { readonly name: string; readonly tier: string | undefined }[],
  ): LoadingServer[] {
    return awaited.flatMap(({ name, tier }) => {
      if (tier === undefined) return []
      const number = this.freeNumbers.pop() ?? this.nextNumber++
      this.retired.push(number)
      return {
        number,
        name,
        type: 'historical',
        tier,
        maxSizeBytes: 0,
        usedSizeBytes: 0,
        loadingSizeBytes: 0,
        queuedLoads: 0,
        decommissioning: false,
      }
    })
  }

  /** The clones that are there, each with the server that it follows. */
  clones(nowMs: number, { leaving, clones }: ServerParts): ServerClone[] {
    return this.describe(nowMs, leaving).flatMap((target) => {
      const source = clones.get(target.name)
      return source === undefined ? [] : [{ target, source: this.byName.get(source)?.number }]
    })
  }

  private describe(nowMs: number, leaving: ReadonlySet<string>): LoadingServer[] {
    const queues = this.queues()
    return [...this.byName.values()].map((server) => {
      this.applyRefusals(server, nowMs)
      const { number, name, type, tier, maxSizeBytes, usedSizeBytes } = server
      const queue = queues.get(number)
      return {
        number,
        name,
        type,
        tier,
        maxSizeBytes,
        usedSizeBytes,
        loadingSizeBytes: queue?.loadSizeBytes ?? 0,
        queuedLoads: queue?.loads ?? 0,
        decommissioning: leaving.has(name),
      }
    })
  }

  /**
   * A server that just failed with a segment is not asked again for a while: for planning it is as busy with that
   * segment as one that is dropping it.
   */
  private applyRefusals(server: MutableServer, nowMs: number): void {
    for (const [id, { untilMs }] of server.refused) {
      if (nowMs < untilMs) this.table.changeCopy(id, server.number, refused, 0)
      else this.table.changeCopy(id, server.number, 0, refused)
    }
  }

  /** Forgets servers with all that they had and were asked, and returns their numbers. */
  private remove(servers: readonly ServerState[]): readonly number[] {
    for (const { name, number } of servers) {
      this.byName.delete(name)
      this.byNumber[number] = undefined
    }
    const numbers = servers.map(({ number }) => number)
    if (numbers.length > 0) this.table.clearServers(new Set(numbers))
    return numbers
  }

  /** Takes in until when a server takes what it was sent for void. */
  private forgetVoid(server: MutableServer, confirmedUntilMs: number): void {
    const { voidUntilMs, number, pending } = server
    if (voidUntilMs === undefined || confirmedUntilMs < voidUntilMs) return
    for (const [id, { sentAtMs }] of [...pending])
      if (sentAtMs <= voidUntilMs) this.table.changeCopy(id, number, 0, requestFlags)
    server.voidUntilMs = undefined
  }
}
